explain @turns_behind_graphs --out o
