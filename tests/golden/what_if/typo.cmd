explain @replay_sync_gpu --what-if swim:fast
