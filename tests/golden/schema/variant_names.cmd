explain @variant_names --pass schema,input --json
