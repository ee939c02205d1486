explain @reply_as_request --pass findings --md
