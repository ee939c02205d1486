explain @batch_grows --pass findings --md
