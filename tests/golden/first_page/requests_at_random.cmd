explain @requests_at_random --out o
