explain @variant_names --pass pid_attribution --json
