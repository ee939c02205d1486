explain @osrt --pass os_runtime --json
