explain @overlap_partition --out o
