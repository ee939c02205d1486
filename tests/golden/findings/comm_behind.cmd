explain @comm_behind --pass findings --md
