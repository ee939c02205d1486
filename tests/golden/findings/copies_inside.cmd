explain @copies_inside --pass findings --md
