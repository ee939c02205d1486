explain @iterations_pauses --pass iterations,windows --md
