explain @p2p_copy --pass copies --json
