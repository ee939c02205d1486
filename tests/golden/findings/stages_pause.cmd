explain @stages_pause --pass findings --md
