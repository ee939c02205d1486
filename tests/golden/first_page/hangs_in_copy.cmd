explain @hangs_in_copy --out o
