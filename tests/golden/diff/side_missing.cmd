diff --before @diff_before
