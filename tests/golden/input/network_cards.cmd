explain @network_cards --pass input --json
