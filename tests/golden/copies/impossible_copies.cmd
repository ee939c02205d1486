explain @impossible_copies --pass partition,copies,capture_quality --md
