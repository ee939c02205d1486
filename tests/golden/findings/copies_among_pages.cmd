explain @copies_among_pages --pass findings --md
