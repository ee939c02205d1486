explain @case02_runtime_only -q --out o --expect 'idle < 10 %'
