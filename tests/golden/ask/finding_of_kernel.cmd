ask @turns_with_code finding 4 --limit 3
