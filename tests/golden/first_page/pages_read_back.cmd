explain @pages_read_back --out o
