explain @rank_stops --out o
