explain @overlap_ends --pass findings --md
