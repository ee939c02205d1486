diff @diff_before @diff_one_more --noise 3
