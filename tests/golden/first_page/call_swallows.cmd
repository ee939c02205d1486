explain @call_swallows -o o
