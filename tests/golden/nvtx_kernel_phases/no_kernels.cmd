explain @case02_runtime_only --pass nvtx_kernel_phases --json --phase-map $(echo '{"a": "b"}' >map.json; echo map.json)
