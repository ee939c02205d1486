explain @graphs_opaque --out o
