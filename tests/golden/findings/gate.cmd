explain @iterations_nvtx --pass critical_path,findings,negative_results --json --fail-on high
