diff @diff_before @diff_load_in_pause --md
