diff @diff_before @diff_loads --md
