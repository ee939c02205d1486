fleet @small_of_streams -o o
