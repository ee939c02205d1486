explain @streams_in_turn --out o
