fleet @titles_of_job -o o
