explain @frames_by_camera --out o
