explain @preempted_in_calls --pass findings --md
