explain @both_ways --pass findings --md
