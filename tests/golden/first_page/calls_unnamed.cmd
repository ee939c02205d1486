explain @calls_unnamed --out o
