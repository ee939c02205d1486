explain @steps_vllm --pass steps --md --model $(echo '{"parameters": 8000000000000, "dtype": "bf16"}' >model.json; echo model.json)
