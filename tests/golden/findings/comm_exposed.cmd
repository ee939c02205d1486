explain @comm_exposed --pass findings --md
