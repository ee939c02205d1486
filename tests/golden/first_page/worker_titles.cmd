explain @worker_titles --out o
