explain @comm_two_streams --pass findings --md
