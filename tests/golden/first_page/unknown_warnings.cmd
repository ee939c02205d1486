explain @unknown_warnings --out o
