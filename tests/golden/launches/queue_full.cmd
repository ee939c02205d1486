explain @queue_full --pass launches --json
