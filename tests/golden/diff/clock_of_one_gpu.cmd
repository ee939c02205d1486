diff @diff_ranks @diff_other_clock --md
