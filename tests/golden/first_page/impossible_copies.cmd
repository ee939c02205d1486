explain @impossible_copies -o o
