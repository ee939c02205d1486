explain @calls_beyond_session --pass capture_quality --md
