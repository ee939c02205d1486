diff @diff_before @diff_long_once --unit window --md
