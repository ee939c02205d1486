explain @libraries --pass library_calls --md
