explain @comm_needed --pass findings --md
