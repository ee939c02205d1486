diff @diff_pauses @diff_one_more --gate step:+3% --gate step.mean:+3% -o report
