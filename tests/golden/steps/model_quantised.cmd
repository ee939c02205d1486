explain @steps_vllm --pass steps --md --model $(echo '{"num_hidden_layers": 8, "torch_dtype": "float16", "quantization_config": {"quant_method": "awq"}}' >config.json; echo config.json)
