explain @call_waits_hours -o o
