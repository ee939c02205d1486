explain @work_in_turns --pass findings,what_if --md
