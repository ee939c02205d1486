ask @call_years_later sql 'SELECT count(*) AS calls, max(end_ns) AS last_ns FROM runtime'
