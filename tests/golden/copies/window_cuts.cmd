explain @copy_bound --pass copies --json --window 0.0105..0.0165
