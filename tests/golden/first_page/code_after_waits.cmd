explain @code_after_waits --out o
