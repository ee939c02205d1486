diff @diff_before @diff_split_k --md
