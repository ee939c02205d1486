explain @two_loops --window 0..0.0094 --out o
