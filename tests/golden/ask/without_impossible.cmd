ask @impossible_records kernel near --limit 2
