explain @peer_elsewhere --pass copies,partition --json
