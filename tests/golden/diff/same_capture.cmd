diff @diff_before @diff_before --md
