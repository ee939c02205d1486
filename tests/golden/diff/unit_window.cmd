diff @diff_before @diff_one_more --unit window --md
