explain @loads_often --pass findings,iterations --md
