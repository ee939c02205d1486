explain @turing_f32 --out o
