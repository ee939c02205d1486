explain @steps_stalled --pass findings,steps --md
