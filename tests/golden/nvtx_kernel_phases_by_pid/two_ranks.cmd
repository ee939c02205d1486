explain @two_rank_straggler --pass nvtx_kernel_phases_by_pid --json --phase-map $(echo '{"all": "step"}' >map.json; echo map.json)
