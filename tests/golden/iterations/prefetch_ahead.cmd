explain @prefetch_ahead --pass iterations,windows,findings --md
