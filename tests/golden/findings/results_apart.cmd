explain @results_apart --pass findings --md
