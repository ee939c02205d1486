explain @launch_bound --out o --expect 'kernel:/tinny/ < 5 %' --expect 'kernel:/tiny/ > 5 %'
