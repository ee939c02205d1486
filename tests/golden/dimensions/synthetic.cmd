explain @synthetic --pass dimensions --json
