diff @diff_before @diff_one_more --gate "kernel:/flash/:+1ms" -o report
