explain @hand_over --pass copies --md
