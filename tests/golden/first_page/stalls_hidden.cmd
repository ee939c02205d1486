explain @stalls_hidden --out o
