diff @diff_ranks @diff_late_rank --md
