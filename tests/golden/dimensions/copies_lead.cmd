explain @copy_bound --pass dimensions,copies,partition --md
