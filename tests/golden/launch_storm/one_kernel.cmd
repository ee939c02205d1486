explain @few_blocks_paged --pass launch_storm,launch_latency --md
