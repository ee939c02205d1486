explain @launches_now_and_then --pass findings --md
