diff @diff_before @diff_small_launch --md
