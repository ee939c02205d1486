explain @backpressure --pass launches --json
