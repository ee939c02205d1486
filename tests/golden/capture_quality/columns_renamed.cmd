explain @columns_renamed --pass capture_quality --md
