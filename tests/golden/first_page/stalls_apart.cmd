explain @stalls_apart --out o
