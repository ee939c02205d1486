explain @osrt --pass os_runtime --json --window 3000000ns..3500000ns
