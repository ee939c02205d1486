explain @mig_unequal -o o
