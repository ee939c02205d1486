explain @other_algorithm --pass findings --md
