explain @results_used --pass findings --md
