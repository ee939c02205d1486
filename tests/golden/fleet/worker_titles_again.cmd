fleet @worker_titles @worker_titles_again -o o
