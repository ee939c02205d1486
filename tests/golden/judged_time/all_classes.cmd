explain @overlap_partition --pass judged_time --json
