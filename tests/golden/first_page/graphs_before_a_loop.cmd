explain @graphs_before_a_loop --out o
