explain @persistent_on_three -o o
