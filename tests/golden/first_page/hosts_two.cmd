explain @hosts_two --out o
