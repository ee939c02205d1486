explain @call_years_later --pass capture_quality --md
