explain @osrt --explain os_runtime
