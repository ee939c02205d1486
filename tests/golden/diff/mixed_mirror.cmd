diff @diff_one_more @diff_pauses --gate step:+3% --gate step.mean:+3% --md
