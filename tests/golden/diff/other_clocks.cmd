diff @diff_before @diff_clocks --md
