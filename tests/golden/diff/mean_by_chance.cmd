diff @diff_pause_once @diff_one_more --gate step:+3% -o report
