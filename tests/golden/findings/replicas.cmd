explain @replicas --pass findings --md
