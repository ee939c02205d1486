explain @pauses_twice --pass findings --md
