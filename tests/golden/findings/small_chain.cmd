explain @small_chain --pass findings --md
