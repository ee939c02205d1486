explain @three_losses --out o
