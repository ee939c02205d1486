explain @call_years_later --out o
