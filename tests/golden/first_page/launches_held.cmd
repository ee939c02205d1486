explain @launches_held --out o
