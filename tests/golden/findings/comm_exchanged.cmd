explain @comm_exchanged --pass findings --md
