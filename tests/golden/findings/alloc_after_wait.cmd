explain @alloc_after_wait --pass findings --md
