explain @prefetch_ahead --pass iterations --md
