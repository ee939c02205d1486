explain @window_reach --window nvtx:epoch --reach 0.1 --pass windows --md
