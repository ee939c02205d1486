explain @nodes_far_apart --out o
