explain @slices_of_time --out o
