explain @copies_in_turns --out o
