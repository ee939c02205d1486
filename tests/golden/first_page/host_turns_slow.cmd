explain @host_turns_slow --out o
