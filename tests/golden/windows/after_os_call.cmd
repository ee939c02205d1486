explain @osrt --window 0.0005..0.003 --pass windows --md
