explain @empty_tables --pass windows --json
