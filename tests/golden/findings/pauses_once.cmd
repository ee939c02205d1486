explain @pauses_once --pass findings --md
