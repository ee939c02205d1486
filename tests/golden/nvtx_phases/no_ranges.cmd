explain @case01_kernels_only --pass nvtx_phases --json --phase-map $(echo '{"a": "b"}' >map.json; echo map.json)
