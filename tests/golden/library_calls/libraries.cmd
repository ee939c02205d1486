explain @libraries --pass library_calls --json
