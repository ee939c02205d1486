explain @two_waits --out o
