explain @case02_runtime_only --pass run_phases --md
