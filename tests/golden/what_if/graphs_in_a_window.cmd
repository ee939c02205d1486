explain @replay_graph --pass what_if --window 0.0005..0.001 --md
