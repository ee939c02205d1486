@lost_launches --window 0.0095s..0.0125s
