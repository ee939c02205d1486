fleet @diff_late_rank --json -o o
