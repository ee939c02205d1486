diff @diff_before @diff_sync --md
