explain @pauses_in_turn --pass findings,what_if --md
