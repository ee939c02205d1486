explain @paced_clock --pass what_if --json
