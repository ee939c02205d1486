fleet @worker_titles -o o
