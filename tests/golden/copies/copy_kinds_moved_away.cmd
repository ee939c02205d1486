explain @copy_kinds_moved_away --pass copies,capture_quality --md
