ask @preempted finding 1 --limit 3
