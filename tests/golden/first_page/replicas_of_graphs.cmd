explain @replicas_of_graphs --out o
