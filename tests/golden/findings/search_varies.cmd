explain @search_varies --pass findings --md
