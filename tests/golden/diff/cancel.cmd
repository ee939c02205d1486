diff @diff_before @diff_cancel --md
