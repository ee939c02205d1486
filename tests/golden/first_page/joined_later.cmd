explain @joined_later --out o
