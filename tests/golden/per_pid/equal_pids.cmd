explain @pids_equal --pass pid_attribution,by_pid,per_pid,nvtx_by_pid,nvtx_kernel_phases_by_pid --json --phase-map $(echo '{"in": "load", "out": "store"}' >map.json; echo map.json)
