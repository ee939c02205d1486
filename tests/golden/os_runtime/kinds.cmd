explain @osrt_kinds --pass os_runtime --json
