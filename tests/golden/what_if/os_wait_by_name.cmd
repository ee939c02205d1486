explain @locks_each_step --pass what_if --md --what-if no:pthread_cond_timedwait
