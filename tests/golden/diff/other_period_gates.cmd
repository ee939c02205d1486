diff @diff_every_third @diff_before --gate step:+3% --gate launches:+5% --md
