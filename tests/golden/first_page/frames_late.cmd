explain @frames_late --out o
