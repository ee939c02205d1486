explain @few_blocks_paged --out o
