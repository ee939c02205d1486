diff @diff_ranks @diff_uneven_work --md
