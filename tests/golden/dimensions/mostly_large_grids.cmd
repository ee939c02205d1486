explain @occupancy --pass dimensions --json
