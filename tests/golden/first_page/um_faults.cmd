explain @um_faults --out o
