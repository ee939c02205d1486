digest @ranks_of_hosts -o o
