explain @empty_tables --out o
