explain @launch_bound -q --out o --expect 'kernels > 1 %'
