diff @case02_runtime_only @diff_before
