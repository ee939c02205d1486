explain @library_starts --pass findings --md
