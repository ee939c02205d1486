explain @iterations_pauses --out o --window 35700000ns..36700000ns
