explain @graph_pauses --out o
