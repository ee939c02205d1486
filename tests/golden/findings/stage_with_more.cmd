explain @stage_with_more --pass findings --md
