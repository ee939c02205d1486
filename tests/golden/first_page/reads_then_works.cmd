explain @reads_then_works --out o
