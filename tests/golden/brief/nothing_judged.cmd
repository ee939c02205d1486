explain @case02_runtime_only --brief
