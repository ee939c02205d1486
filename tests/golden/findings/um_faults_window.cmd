explain @um_faults --pass findings --md --window 0.000121s..0.000129s
