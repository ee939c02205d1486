diff @diff_before @iterations_sequence --md
