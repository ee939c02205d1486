diff @diff_before @diff_slower --gate idle:+3
