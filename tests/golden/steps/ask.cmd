ask @steps_vllm steps prefill
