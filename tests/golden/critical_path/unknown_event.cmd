explain @unknown_event --pass critical_path --json
