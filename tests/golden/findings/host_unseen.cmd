explain @host_unseen --pass findings --md
