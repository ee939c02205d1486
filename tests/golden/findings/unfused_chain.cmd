explain @unfused_chain --pass findings --md
