explain @overlap_partition --pass critical_path --md
