explain @preempted --pass findings --md
