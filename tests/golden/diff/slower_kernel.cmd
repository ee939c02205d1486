diff @diff_before @diff_slower --json
