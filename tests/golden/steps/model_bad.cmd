explain @steps_vllm --pass steps --md --model $(echo '{"parameters": 100000000, "dtype": "int3"}' >model.json; echo model.json)
