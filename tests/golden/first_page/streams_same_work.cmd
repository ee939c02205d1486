explain @streams_same_work --out o
