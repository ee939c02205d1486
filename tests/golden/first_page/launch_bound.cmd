explain @launch_bound --out o
