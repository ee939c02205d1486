explain @launch_bound --out o --expect 'kernel:/./ < 90 %' --expect 'idle >= 5 %'
