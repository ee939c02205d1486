explain @in_turns_unseen --out o
