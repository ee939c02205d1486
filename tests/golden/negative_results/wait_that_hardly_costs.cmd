explain @large_and_small --pass negative_results --md
