explain @frames_by_timer --out o
