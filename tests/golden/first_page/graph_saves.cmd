explain @graph_saves --out o
