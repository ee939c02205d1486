explain @slows_then_saves --window 0s..0.059s --pass findings --md
