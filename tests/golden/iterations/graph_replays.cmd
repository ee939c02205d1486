explain @graphs_trace --pass iterations --md
