explain @one_kernel --phase-map $(echo '{"a": ["ok", "re:("]}' >map.json; echo map.json)
