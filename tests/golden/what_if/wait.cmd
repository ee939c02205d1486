explain @replay_sync_gpu --pass what_if --md
