explain @slow_pcie --out o
