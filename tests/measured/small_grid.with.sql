-- small_grid, with: 20 steps on an NVIDIA H200, as captured; README.md says how.
-- Written by dump2sql.py. A row begins with start, length (ns) and correlation id;
-- start and id are differences from the row before.

-- @include _schema/v3_25.sql
-- @lazy

UPDATE META_DATA_CAPTURE SET value = 'Node'
WHERE name = 'CUDA_GRAPH_TRACE_OPTIONS:MODE';
INSERT INTO gpu (id, name) VALUES (0, 'NVIDIA H200');
UPDATE TARGET_INFO_GPU SET smCount = 132, l2CacheSize = 62914560,
    totalMemory = 150109880320, memoryBandwidth = 4814304000000, clockRate = 1980000000;
INSERT INTO process (pid, name, device) VALUES (1, 'work', 0);
INSERT INTO intern VALUES ('CUPTI');
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 1, 1, 1, 0, 3);
INSERT INTO nvtx (t0, t1, pid, text)
SELECT start, start + column2, 1, column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(0,579400,0,'step'),
(579772,8104,0,'step'),
(8199,8082,0,'step'),
(8151,7359,0,'step'),
(7447,8274,0,'step'),
(8358,8112,0,'step'),
(8198,7262,0,'step'),
(7383,7365,0,'step'),
(7462,8414,0,'step'),
(8495,8326,0,'step'),
(8422,7238,0,'step'),
(7326,7510,0,'step'),
(7588,7914,0,'step'),
(7995,8318,0,'step'),
(8399,7149,0,'step'),
(7235,7935,0,'step'),
(8023,8295,0,'step'),
(8405,8455,0,'step'),
(8535,7900,0,'step'),
(7977,8796,0,'step')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO api (t0, t1, pid, corr, name)
SELECT start, start + column2, 1, corr, column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(3178,568066,9,'cudaLaunchKernel_v7000'),
(568787,7161,1,'cudaLaunchKernel_v7000'),
(8033,3703,1,'cudaLaunchKernel_v7000'),
(3893,3905,1,'cudaLaunchKernel_v7000'),
(4202,4060,1,'cudaLaunchKernel_v7000'),
(4247,3612,1,'cudaLaunchKernel_v7000'),
(3970,3540,1,'cudaLaunchKernel_v7000'),
(3709,3377,1,'cudaLaunchKernel_v7000'),
(3724,4262,1,'cudaLaunchKernel_v7000'),
(4445,3586,1,'cudaLaunchKernel_v7000'),
(3970,4109,1,'cudaLaunchKernel_v7000'),
(4290,3506,1,'cudaLaunchKernel_v7000'),
(3798,3572,1,'cudaLaunchKernel_v7000'),
(3744,3312,1,'cudaLaunchKernel_v7000'),
(3637,3285,1,'cudaLaunchKernel_v7000'),
(3460,3699,1,'cudaLaunchKernel_v7000'),
(4006,3546,1,'cudaLaunchKernel_v7000'),
(3693,4529,1,'cudaLaunchKernel_v7000'),
(4797,4333,1,'cudaLaunchKernel_v7000'),
(4506,3631,1,'cudaLaunchKernel_v7000'),
(3917,3902,1,'cudaLaunchKernel_v7000'),
(4089,2959,1,'cudaLaunchKernel_v7000'),
(3237,3284,1,'cudaLaunchKernel_v7000'),
(3460,3861,1,'cudaLaunchKernel_v7000'),
(4130,3176,1,'cudaLaunchKernel_v7000'),
(3349,4356,1,'cudaLaunchKernel_v7000'),
(4643,3811,1,'cudaLaunchKernel_v7000'),
(3980,4149,1,'cudaLaunchKernel_v7000'),
(4419,3579,1,'cudaLaunchKernel_v7000'),
(3757,3185,1,'cudaLaunchKernel_v7000'),
(3477,4155,1,'cudaLaunchKernel_v7000'),
(4317,3317,1,'cudaLaunchKernel_v7000'),
(3704,3937,1,'cudaLaunchKernel_v7000'),
(4112,3985,1,'cudaLaunchKernel_v7000'),
(4297,3915,1,'cudaLaunchKernel_v7000'),
(4093,4178,1,'cudaLaunchKernel_v7000'),
(4441,3703,1,'cudaLaunchKernel_v7000'),
(3894,3797,1,'cudaLaunchKernel_v7000'),
(4080,5050,1,'cudaLaunchKernel_v7000'),
(5227,3352,1,'cudaLaunchKernel_v7000'),
(3895,79323978,1,'cudaDeviceSynchronize_v3020')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO kernel (t0, t1, device, pid, corr, stream, name, grid, regs)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(28801,2998528,9,7,'few_blocks',4,16),
(2999552,1000352,1,7,'fma_main',264,16),
(1001376,2998560,1,7,'few_blocks',4,16),
(2999552,1000352,1,7,'fma_main',264,16),
(1001344,2998560,1,7,'few_blocks',4,16),
(2999488,1000352,1,7,'fma_main',264,16),
(1001215,2998560,1,7,'few_blocks',4,16),
(2999616,1000352,1,7,'fma_main',264,16),
(1001376,2998560,1,7,'few_blocks',4,16),
(2999584,1000352,1,7,'fma_main',264,16),
(1001408,2998560,1,7,'few_blocks',4,16),
(2999456,1000352,1,7,'fma_main',264,16),
(1001280,2998560,1,7,'few_blocks',4,16),
(2999488,1000384,1,7,'fma_main',264,16),
(1001280,2998560,1,7,'few_blocks',4,16),
(2999648,1000320,1,7,'fma_main',264,16),
(1001312,2998560,1,7,'few_blocks',4,16),
(2999615,1000320,1,7,'fma_main',264,16),
(1001377,2998591,1,7,'few_blocks',4,16),
(2999455,1000352,1,7,'fma_main',264,16),
(1001312,2998560,1,7,'few_blocks',4,16),
(2999456,1000352,1,7,'fma_main',264,16),
(1001248,2998560,1,7,'few_blocks',4,16),
(2999584,1000384,1,7,'fma_main',264,16),
(1001280,2998560,1,7,'few_blocks',4,16),
(2999584,1000352,1,7,'fma_main',264,16),
(1001376,2998560,1,7,'few_blocks',4,16),
(2999520,1000320,1,7,'fma_main',264,16),
(1001344,2998559,1,7,'few_blocks',4,16),
(2999456,1000351,1,7,'fma_main',264,16),
(1001248,2998560,1,7,'few_blocks',4,16),
(2999615,1000352,1,7,'fma_main',264,16),
(1001377,2998527,1,7,'few_blocks',4,16),
(2999487,1000320,1,7,'fma_main',264,16),
(1001248,2998560,1,7,'few_blocks',4,16),
(2999520,1000384,1,7,'fma_main',264,16),
(1001280,2998528,1,7,'few_blocks',4,16),
(2999456,1000352,1,7,'fma_main',264,16),
(1001312,2998528,1,7,'few_blocks',4,16),
(2999584,1000384,1,7,'fma_main',264,16)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO sync (t0, t1, pid, corr, stream, event, event_sync)
SELECT start, start + column2, 1, corr, column4, column5, column6
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(733754,79321340,49,NULL,NULL,NULL)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO PROFILER_OVERHEAD (start, end, globalTid, nameId, overheadType)
SELECT start, start + column2, 281474993487873,
    (SELECT id FROM StringIds WHERE value = 'CUPTI'), column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(27988,539782,9,1),
(80113024,52824,-9,3),
(71275,702159,0,1)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
