diff @diff_before
