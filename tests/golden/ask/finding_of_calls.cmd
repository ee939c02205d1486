ask @synthetic finding 1 --limit 3
