diff @diff_before,@diff_before @diff_slower -o report
