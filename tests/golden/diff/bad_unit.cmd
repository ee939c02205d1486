diff @diff_before @diff_slower --unit layer
