explain @pages_settle --out o
