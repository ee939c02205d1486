-- small_grid, without: 20 steps on an NVIDIA H200, as captured; README.md says how.
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
(0,903412,0,'step'),
(904144,9018,0,'step'),
(9097,8310,0,'step'),
(8402,8583,0,'step'),
(8676,7426,0,'step'),
(7541,8258,0,'step'),
(8335,8436,0,'step'),
(8518,7201,0,'step'),
(7292,8046,0,'step'),
(8143,9976,0,'step'),
(10054,8126,0,'step'),
(8211,6870,0,'step'),
(6953,9307,0,'step'),
(9373,9116,0,'step'),
(9195,8192,0,'step'),
(8274,7090,0,'step'),
(7187,8489,0,'step'),
(8565,10047,0,'step'),
(10141,8516,0,'step'),
(8594,7244,0,'step')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO api (t0, t1, pid, corr, name)
SELECT start, start + column2, 1, corr, column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(2001,889521,59,'cudaLaunchKernel_v7000'),
(890385,10691,1,'cudaLaunchKernel_v7000'),
(12054,4847,1,'cudaLaunchKernel_v7000'),
(5038,3586,1,'cudaLaunchKernel_v7000'),
(3879,4238,1,'cudaLaunchKernel_v7000'),
(4415,3692,1,'cudaLaunchKernel_v7000'),
(4019,3473,1,'cudaLaunchKernel_v7000'),
(3644,4711,1,'cudaLaunchKernel_v7000'),
(5060,3233,1,'cudaLaunchKernel_v7000'),
(3403,3764,1,'cudaLaunchKernel_v7000'),
(4159,3412,1,'cudaLaunchKernel_v7000'),
(3588,4386,1,'cudaLaunchKernel_v7000'),
(4661,4034,1,'cudaLaunchKernel_v7000'),
(4221,4013,1,'cudaLaunchKernel_v7000'),
(4302,3555,1,'cudaLaunchKernel_v7000'),
(3738,3262,1,'cudaLaunchKernel_v7000'),
(3550,4229,1,'cudaLaunchKernel_v7000'),
(4409,3442,1,'cudaLaunchKernel_v7000'),
(3734,3817,1,'cudaLaunchKernel_v7000'),
(3988,5791,1,'cudaLaunchKernel_v7000'),
(6067,3700,1,'cudaLaunchKernel_v7000'),
(3873,4052,1,'cudaLaunchKernel_v7000'),
(4338,3065,1,'cudaLaunchKernel_v7000'),
(3248,3425,1,'cudaLaunchKernel_v7000'),
(3704,5170,1,'cudaLaunchKernel_v7000'),
(5353,3753,1,'cudaLaunchKernel_v7000'),
(4022,4487,1,'cudaLaunchKernel_v7000'),
(4679,4240,1,'cudaLaunchKernel_v7000'),
(4517,4029,1,'cudaLaunchKernel_v7000'),
(4211,3780,1,'cudaLaunchKernel_v7000'),
(4062,2902,1,'cudaLaunchKernel_v7000'),
(3091,3802,1,'cudaLaunchKernel_v7000'),
(4095,4112,1,'cudaLaunchKernel_v7000'),
(4294,3997,1,'cudaLaunchKernel_v7000'),
(4269,5025,1,'cudaLaunchKernel_v7000'),
(5206,4628,1,'cudaLaunchKernel_v7000'),
(4934,4598,1,'cudaLaunchKernel_v7000'),
(4771,3546,1,'cudaLaunchKernel_v7000'),
(3824,2900,1,'cudaLaunchKernel_v7000'),
(3083,3939,1,'cudaLaunchKernel_v7000'),
(4467,21040294,1,'cudaDeviceSynchronize_v3020')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO kernel (t0, t1, device, pid, corr, stream, name, grid, regs)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(321721,60960,59,7,'many_blocks',264,16),
(582720,1000385,1,7,'fma_main',264,16),
(1001408,60897,1,7,'many_blocks',264,16),
(61824,1000000,1,7,'fma_main',264,16),
(1001025,60927,1,7,'many_blocks',264,16),
(61791,1000032,1,7,'fma_main',264,16),
(1000992,60928,1,7,'many_blocks',264,16),
(61824,1000033,1,7,'fma_main',264,16),
(1000960,60896,1,7,'many_blocks',264,16),
(61888,1000032,1,7,'fma_main',264,16),
(1000960,60864,1,7,'many_blocks',264,16),
(61792,1000032,1,7,'fma_main',264,16),
(1001088,60928,1,7,'many_blocks',264,16),
(61920,1000032,1,7,'fma_main',264,16),
(1000992,60864,1,7,'many_blocks',264,16),
(61760,1000064,1,7,'fma_main',264,16),
(1000992,60896,1,7,'many_blocks',264,16),
(61856,1000032,1,7,'fma_main',264,16),
(1001088,60896,1,7,'many_blocks',264,16),
(61984,1000000,1,7,'fma_main',264,16),
(1000992,60864,1,7,'many_blocks',264,16),
(61888,1000032,1,7,'fma_main',264,16),
(1000928,60896,1,7,'many_blocks',264,16),
(61792,1000000,1,7,'fma_main',264,16),
(1000960,60896,1,7,'many_blocks',264,16),
(61856,1000032,1,7,'fma_main',264,16),
(1000960,60864,1,7,'many_blocks',264,16),
(61952,1000032,1,7,'fma_main',264,16),
(1000992,60864,1,7,'many_blocks',264,16),
(61888,1000032,1,7,'fma_main',264,16),
(1000960,60864,1,7,'many_blocks',264,16),
(61760,1000032,1,7,'fma_main',264,16),
(1000960,60896,1,7,'many_blocks',264,16),
(61856,1000000,1,7,'fma_main',264,16),
(1000928,60896,1,7,'many_blocks',264,16),
(61952,1000032,1,7,'fma_main',264,16),
(1001024,60896,1,7,'many_blocks',264,16),
(61920,1000031,1,7,'fma_main',264,16),
(1000896,60895,1,7,'many_blocks',264,16),
(61792,1000063,1,7,'fma_main',264,16)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO sync (t0, t1, pid, corr, stream, event, event_sync)
SELECT start, start + column2, 1, corr, column4, column5, column6
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(1065464,21038746,99,NULL,NULL,NULL)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO PROFILER_OVERHEAD (start, end, globalTid, nameId, overheadType)
SELECT start, start + column2, 281474993487873,
    (SELECT id FROM StringIds WHERE value = 'CUPTI'), column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(321232,565828,59,1),
(21840189,35140,-59,3),
(37013,717631,0,1)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
