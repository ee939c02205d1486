@lost_launches --window 0.006s..0.016s
