explain @zero_inverted_open --pass nvtx_phases --md --phase-map $(echo '{"loose": "async", "rec": "rec"}' >map.json; echo map.json)
