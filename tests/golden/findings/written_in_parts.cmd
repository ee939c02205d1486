explain @written_in_parts --pass findings --md
