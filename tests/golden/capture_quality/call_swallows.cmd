explain @call_swallows --pass capture_quality --md
