explain @hangs_then_goes_on --out o
