diff @diff_before @diff_slower --gpu 7
