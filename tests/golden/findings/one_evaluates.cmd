explain @one_evaluates --pass findings --md
