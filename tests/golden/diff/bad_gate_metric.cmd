diff @diff_before @diff_slower --gate steps:+3%
