-- 320 ranks, each on a GPU of its own: more rows than fit into a comment.

-- @include _schema/v3_25.sql
-- @lazy
-- @include _diff/unit.sql

DELETE FROM op WHERE k > 2;
INSERT INTO rank
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 319)
SELECT 111 + i, i, 0 FROM n;
-- @include _diff/loop.sql
