explain @served_unseen --pass findings --md
