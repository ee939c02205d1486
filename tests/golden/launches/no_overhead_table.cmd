explain @synthetic --pass launches --json
