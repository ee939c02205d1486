explain @sched_states --out o
