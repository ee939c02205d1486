explain @calls_beyond_session -o o
