explain @slows_down --pass findings --md
