explain @graphs_trace --out o
