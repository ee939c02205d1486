explain @launch_bound -q --out o --expect 'kernel:/(a/ > 1 %'
