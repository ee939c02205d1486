explain @copy_kinds_short --pass copies,capture_quality --md
