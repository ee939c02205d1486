explain @graph_after_copy --out o
