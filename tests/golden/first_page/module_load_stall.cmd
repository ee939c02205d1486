explain @module_load_stall --out o
