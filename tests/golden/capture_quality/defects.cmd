explain @zero_inverted_open --pass capture_quality --json
