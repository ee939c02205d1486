explain @comm_gathered --pass findings --md
