ask @steps_vllm steps sampling
