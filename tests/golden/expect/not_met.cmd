explain @launch_bound -q --out o --expect 'idle < 10 %' --expect 'kernel:/nosuch/ > 1 %' --expect 'copy <= 100 %'
