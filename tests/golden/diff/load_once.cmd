diff @diff_before @diff_load_once --md
