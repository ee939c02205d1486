diff @diff_ranks @diff_more_ranks --md
