explain @context_grows --pass iterations --md
