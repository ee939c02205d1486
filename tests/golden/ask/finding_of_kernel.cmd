ask @backward_waits finding 2 --limit 3
