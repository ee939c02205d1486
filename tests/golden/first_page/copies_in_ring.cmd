explain @copies_in_ring -o o
