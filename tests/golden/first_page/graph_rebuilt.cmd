explain @graph_rebuilt --out o
