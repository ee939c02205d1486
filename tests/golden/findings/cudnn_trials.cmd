explain @cudnn_trials --pass findings --md
