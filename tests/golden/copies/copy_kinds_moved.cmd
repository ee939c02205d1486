explain @copy_kinds_moved --pass copies,capture_quality --md
