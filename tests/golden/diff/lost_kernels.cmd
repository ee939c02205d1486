diff @diff_before @diff_lost --md
