explain @copy_bound --pass dimensions,copies --md
