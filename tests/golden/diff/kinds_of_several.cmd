diff @steps_vllm,@kinds_before @kinds_after,@steps_vllm --md
