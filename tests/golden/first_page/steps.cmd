explain @steps_vllm -o o --no-html --model $(echo '{"parameters": 100000000, "dtype": "bf16"}' >model.json; echo model.json)
