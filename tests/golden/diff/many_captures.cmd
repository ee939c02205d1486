diff --before @diff_before --before @diff_slower --before @diff_renamed --after @diff_one_more,@diff_clocks,@diff_heavy --md
