explain @context_grows --pass findings --md
