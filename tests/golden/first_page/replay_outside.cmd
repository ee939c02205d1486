explain @replay_outside --out o
