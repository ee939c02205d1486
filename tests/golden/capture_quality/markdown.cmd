explain @capture_gaps --pass capture_quality --md
