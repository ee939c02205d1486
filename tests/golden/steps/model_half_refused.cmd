explain @steps_vllm --pass steps --md --model $(echo '{"parameters": 2000000000, "dtype": "bf16"}' >model.json; echo model.json)
