explain @copy_bound --pass copies --json
