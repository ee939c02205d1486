explain @paced_rank --pass findings --md
