explain @nearly_wide --pass findings --md
