explain @copies_lately --out o
