verify @diff_sync @diff_before
