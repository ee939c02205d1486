explain @iterations_pauses --pass run_phases --json
