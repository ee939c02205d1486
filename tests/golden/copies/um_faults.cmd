explain @um_faults --pass copies --json
