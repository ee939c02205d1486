explain @host_slows_seldom --out o
