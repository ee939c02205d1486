explain @program_failed
