explain @short_nodes --pass iterations --md
