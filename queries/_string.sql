-- The string table, without rows that no id can refer to.
SELECT id, CAST(value AS TEXT) AS text
FROM string
WHERE typeof(id) = 'integer'
  AND typeof(value) IN ('text', 'blob')
