explain @replay_wait_passed --pass what_if --md
