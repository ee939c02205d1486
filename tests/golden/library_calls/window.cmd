explain @libraries --pass library_calls --json --window 450000ns..620000ns
