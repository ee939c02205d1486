diff @diff_before @diff_every_third --md
