explain @short_queued --pass findings --md
