explain @steps_vllm --pass steps --md --model $(echo '{"layers": 8, "hidden": 1024, "heads": 16, "ffn": 3584, "kv_lora_rank": 512, "dtype": "bf16"}' >config.json; echo config.json)
