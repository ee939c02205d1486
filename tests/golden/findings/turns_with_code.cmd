explain @turns_with_code --pass findings --md
