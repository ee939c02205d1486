explain @device_unknown --pass findings,gpu_idle --md
