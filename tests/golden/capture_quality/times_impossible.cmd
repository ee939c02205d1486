explain @times_impossible --pass capture_quality --md
