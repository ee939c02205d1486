explain @paced_unseen --pass findings --md
