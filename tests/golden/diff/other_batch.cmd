diff @diff_before @diff_batch --md
