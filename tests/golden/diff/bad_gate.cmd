diff @diff_before @diff_slower --gate step:3%
