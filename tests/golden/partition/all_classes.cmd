explain @overlap_partition --pass partition --json
