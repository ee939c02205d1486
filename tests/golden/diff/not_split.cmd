diff @diff_ranks @diff_send --md
