explain @batches_in_turns --pass findings --md
