explain @fused_already --pass findings --md
