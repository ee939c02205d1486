diff @diff_before @diff_grid --md
