explain @copies_inside --pass negative_results --md
