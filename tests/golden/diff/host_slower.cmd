diff @diff_host_bound @diff_host_slower --md
