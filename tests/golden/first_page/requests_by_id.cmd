explain @requests_by_id --out o
