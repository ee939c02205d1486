explain @evaluated_between --pass findings --md
