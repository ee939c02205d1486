explain @one_kernel --phase-map $(echo '["a"]' >map.json; echo map.json)
