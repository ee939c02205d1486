explain @reply_and_request --pass findings --md
