diff @diff_before @diff_slower --md -o o
