explain @lock_beside_work --out o
