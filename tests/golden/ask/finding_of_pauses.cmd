ask @pauses_recur finding 1 --limit 3
