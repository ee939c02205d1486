explain @iterations_sequence --pass iterations,windows --json
