explain @after_session --pass capture_quality --md
