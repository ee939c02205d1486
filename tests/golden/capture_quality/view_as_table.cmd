explain @view_as_table --pass capture_quality --json
