diff @diff_before @diff_slower --steps 100..200
