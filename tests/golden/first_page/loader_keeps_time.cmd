explain @loader_keeps_time --out o
