diff @diff_before @diff_pauses -o report
