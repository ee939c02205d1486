diff @diff_before @diff_renamed_third --md
