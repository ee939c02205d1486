explain @work_grows --pass findings --md
