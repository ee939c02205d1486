explain @library_starts --pass findings --md --window 0.0015s..0.0834s
