explain @weights_again --pass findings --md
