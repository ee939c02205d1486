explain @library_starts_profiled --pass findings --md
