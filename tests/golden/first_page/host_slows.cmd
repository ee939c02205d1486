explain @host_slows --out o
