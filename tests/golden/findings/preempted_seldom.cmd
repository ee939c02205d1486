explain @preempted_seldom --pass findings --md
