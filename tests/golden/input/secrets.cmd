explain @secrets --pass input --json
