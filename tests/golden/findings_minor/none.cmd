explain @fed_dense --pass critical_path,findings,findings_minor --json
