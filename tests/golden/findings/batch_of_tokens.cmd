explain @batch_of_tokens --pass findings --md
