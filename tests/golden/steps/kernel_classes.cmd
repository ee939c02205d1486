explain @steps_layers --pass steps --md --kernel-classes $(echo '{"router and experts": "moe", "attention": ["re:^mystery"]}' >map.json; echo map.json)
