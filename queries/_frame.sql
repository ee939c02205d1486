-- Frames of the recorded stacks of CPU samples, CUDA calls and OS calls. function is NULL if
-- it was not resolved. module is the file's name without its folder. origin says whose code
-- the frame is: 0 the program's own, 1 a library's, 2 the system's, 3 CUDA's, 4 the
-- profiler's. The first prefix that matches the file's name decides.
WITH
prefix(prefix, origin) AS (VALUES
  ('libtoolsinjection', 4), ('libcupti', 4), ('libcuda.', 3),
  ('libcudart', 3), ('libnvidia-', 3), ('nvcuda', 3), ('cudart64', 3),
  ('[nvidia', 3), ('[', 2), ('vmlinux', 2), ('libc.', 2), ('libc-', 2),
  ('libm.', 2), ('libm-', 2), ('libpthread', 2), ('libdl.', 2),
  ('libdl-', 2), ('librt.', 2), ('librt-', 2), ('ld-', 2), ('ld.', 2),
  ('libgcc_s', 2), ('libstdc++', 2), ('linux-vdso', 2), ('ntdll', 2),
  ('ntoskrnl', 2), ('kernel32', 2), ('kernelbase', 2), ('ucrtbase', 2),
  ('win32u', 2), ('libmpi', 1), ('libfabric', 1), ('libopen-', 1),
  ('libuc', 1), ('libnccl', 1), ('libcublas', 1), ('libcudnn', 1),
  ('libcufft', 1), ('libcusolver', 1), ('libcusparse', 1), ('libcurand', 1),
  ('libnvrtc', 1), ('libnvinfer', 1), ('libtorch', 1), ('libc10', 1),
  ('libgomp', 1), ('libiomp', 1), ('libomp', 1), ('libacc', 1),
  ('libpython', 1), ('python', 1)
),
raw(kind, id, depth, symbol, module, unresolved) AS (
  SELECT 'sample', id, depth, symbol, module
  , CASE typeof(unresolved) WHEN 'integer' THEN unresolved <> 0 ELSE 0 END
  FROM sample_frame
  UNION ALL
  SELECT 'cuda', id, depth, symbol, module
  , CASE typeof(unresolved) WHEN 'integer' THEN unresolved <> 0 ELSE 0 END
  FROM cuda_frame
  UNION ALL
  SELECT 'osrt', id, depth, symbol, module
  , CASE typeof(unresolved) WHEN 'integer' THEN unresolved <> 0 ELSE 0 END
  FROM osrt_frame
),
path AS ( -- the path of each module, with slashes in place of backslashes
  SELECT
    module AS raw_module
  , replace(text, char(92), '/') AS path
  , text <> '[Unknown]' AS is_known
  FROM (
    SELECT DISTINCT module, CASE typeof(module)
        WHEN 'text' THEN module
        WHEN 'integer' THEN COALESCE(s.text, 'id:' || module)
        ELSE ''
      END AS text
    FROM raw
    LEFT JOIN _string AS s ON s.id = module
  )
),
file AS (
  SELECT
    *
  , substr(path, length(rtrim(path, replace(path, '/', ''))) + 1) AS file
  FROM path
),
named AS MATERIALIZED (
  SELECT
    raw_module
  , CASE WHEN is_known THEN NULLIF(file, '') END AS module
  , CASE
      WHEN path LIKE '%nsight-systems%' OR path LIKE '%nsight systems%' THEN 4
      ELSE COALESCE((
        SELECT p.origin FROM prefix AS p
        WHERE lower(substr(file, 1, length(p.prefix))) = p.prefix
        LIMIT 1), 0)
    END AS origin
  FROM file
),
spelt AS (
  SELECT
    r.kind, r.id, r.depth, m.module
  , COALESCE(m.origin, 0) AS origin
  , CASE WHEN r.unresolved = 0 THEN
      CASE typeof(r.symbol)
        WHEN 'text' THEN r.symbol
        WHEN 'integer' THEN COALESCE(s.text, 'id:' || r.symbol)
      END
    END AS function
  FROM raw AS r
  LEFT JOIN named AS m ON m.raw_module = r.module
  LEFT JOIN _string AS s ON s.id = r.symbol
  WHERE typeof(r.id) = 'integer'
    AND typeof(r.depth) = 'integer'
    AND r.depth BETWEEN 0 AND 16777215
)
SELECT
  kind
, id
, depth
, CASE WHEN function <> '' AND function NOT GLOB '0x*' THEN function END
    AS function
, module
, CASE
    WHEN origin = 0 AND function NOT GLOB '0x*' AND (function GLOB 'cuda*'
        OR function GLOB 'cu[A-Z]*' OR function GLOB '*cudart*') THEN 3
    ELSE origin
  END AS origin
FROM spelt
