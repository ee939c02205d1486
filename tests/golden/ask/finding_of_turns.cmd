ask @backward_waits finding 1 --limit 3
