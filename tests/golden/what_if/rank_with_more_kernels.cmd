explain @uneven_count --pass what_if --md --what-if rank:1:even
