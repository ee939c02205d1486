explain @waits_win_later --pass findings,what_if --md
