explain @updates_on_host --pass findings --md
