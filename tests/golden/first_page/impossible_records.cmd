explain @impossible_records --out o
