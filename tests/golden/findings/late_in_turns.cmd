explain @late_in_turns --pass findings,negative_results --md
