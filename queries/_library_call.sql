-- Well-formed calls of libraries, with their names as text. A call with several rows is
-- listed once; MPI_Sendrecv, for example, has a row for each peer.
WITH raw AS (
  SELECT 'cuBLAS' AS library, start_ns, end_ns, global_tid, name FROM cublas
  UNION ALL SELECT 'cuDNN', start_ns, end_ns, global_tid, name FROM cudnn
  UNION ALL SELECT 'MPI', start_ns, end_ns, global_tid, name FROM mpi_coll
  UNION ALL SELECT 'MPI', start_ns, end_ns, global_tid, name FROM mpi_p2p
  UNION ALL SELECT 'MPI', start_ns, end_ns, global_tid, name FROM mpi_wait
  UNION ALL SELECT 'MPI', start_ns, end_ns, global_tid, name FROM mpi_other
  UNION ALL SELECT 'OpenACC', start_ns, end_ns, global_tid, name FROM openacc_data
  UNION ALL SELECT 'OpenACC', start_ns, end_ns, global_tid, name FROM openacc_launch
  UNION ALL SELECT 'OpenACC', start_ns, end_ns, global_tid, name FROM openacc_other
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_cancel
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_critical_section
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_dispatch
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_flush
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_lock_destroy
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_lock_init
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_master
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_mutex_released
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_mutex_wait
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_parallel
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_reduction
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_sync_region
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_sync_region_wait
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_task
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_task_create
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_task_schedule
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_thread
  UNION ALL SELECT 'OpenMP', start_ns, end_ns, global_tid, name FROM openmp_workshare
  UNION ALL SELECT 'UCX', start_ns, end_ns, global_tid, name FROM ucp_submit
  UNION ALL SELECT 'UCX', start_ns, end_ns, global_tid, name FROM ucp_progress
  UNION ALL SELECT 'UCX', start_ns, end_ns, global_tid, name FROM ucp_other
)
SELECT DISTINCT
  r.library
, r.start_ns
, r.end_ns
, CASE typeof(r.global_tid) WHEN 'integer' THEN r.global_tid ELSE 0 END
    AS thread_key
, CASE typeof(r.name)
    WHEN 'text' THEN r.name
    WHEN 'integer' THEN COALESCE(s.text, 'id:' || r.name)
    ELSE ''
  END AS function
FROM raw AS r
LEFT JOIN _string AS s ON s.id = r.name
WHERE typeof(r.start_ns) = 'integer'
  AND typeof(r.end_ns) = 'integer'
  AND r.end_ns >= r.start_ns
  AND r.start_ns >= -2305843009213693952
  AND r.end_ns <= 2305843009213693952
