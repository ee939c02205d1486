explain @fed_dense --pass iterations --md
