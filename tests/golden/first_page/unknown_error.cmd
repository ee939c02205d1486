explain @unknown_error -o o
