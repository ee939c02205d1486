diff @diff_before @diff_renamed --md
