digest @impossible_records -o d
