explain @iterations_nvtx --pass critical_path,launch_storm,findings,findings_minor --md
