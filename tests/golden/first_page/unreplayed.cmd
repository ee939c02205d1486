explain @unreplayed --out o
