diff @diff_before nothing.sqlite
