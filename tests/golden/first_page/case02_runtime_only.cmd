explain @case02_runtime_only --out o
