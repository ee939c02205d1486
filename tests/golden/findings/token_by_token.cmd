explain @token_by_token --pass findings --md
