explain @checkpoints_twice --out o
