-- pageable, without: 20 steps on an NVIDIA H200, as captured; README.md says how.
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
(0,1006678,0,'step'),
(1007701,14349,0,'step'),
(14509,7076,0,'step'),
(7288,9375,0,'step'),
(9464,7724,0,'step'),
(7811,6949,0,'step'),
(7028,8324,0,'step'),
(8400,7153,0,'step'),
(7234,8051,0,'step'),
(8136,6732,0,'step'),
(6842,25281,0,'step'),
(25499,7379,0,'step'),
(7470,7679,0,'step'),
(7760,6033,0,'step'),
(6124,5820,0,'step'),
(5912,6875,0,'step'),
(6956,6865,0,'step'),
(6999,6706,0,'step'),
(6785,6312,0,'step'),
(6408,6760,0,'step')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO api (t0, t1, pid, corr, name)
SELECT start, start + column2, 1, corr, column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(1726,972285,67,'cudaMemcpyAsync_v3020'),
(973681,30910,1,'cudaLaunchKernel_v7000'),
(32564,7962,1,'cudaMemcpyAsync_v3020'),
(8115,5896,1,'cudaLaunchKernel_v7000'),
(6243,2533,1,'cudaMemcpyAsync_v3020'),
(2804,4096,1,'cudaLaunchKernel_v7000'),
(4592,2374,1,'cudaMemcpyAsync_v3020'),
(2606,6483,1,'cudaLaunchKernel_v7000'),
(6768,2034,1,'cudaMemcpyAsync_v3020'),
(2176,5349,1,'cudaLaunchKernel_v7000'),
(5690,1935,1,'cudaMemcpyAsync_v3020'),
(2074,4620,1,'cudaLaunchKernel_v7000'),
(4863,2190,1,'cudaMemcpyAsync_v3020'),
(2328,5833,1,'cudaLaunchKernel_v7000'),
(6153,2176,1,'cudaMemcpyAsync_v3020'),
(2315,4592,1,'cudaLaunchKernel_v7000'),
(4916,2143,1,'cudaMemcpyAsync_v3020'),
(2285,5525,1,'cudaLaunchKernel_v7000'),
(5774,2073,1,'cudaMemcpyAsync_v3020'),
(2216,4346,1,'cudaLaunchKernel_v7000'),
(4628,18837,1,'cudaMemcpyAsync_v3020'),
(19150,5963,1,'cudaLaunchKernel_v7000'),
(6391,2830,1,'cudaMemcpyAsync_v3020'),
(3067,4108,1,'cudaLaunchKernel_v7000'),
(4361,2101,1,'cudaMemcpyAsync_v3020'),
(2271,5243,1,'cudaLaunchKernel_v7000'),
(5489,2309,1,'cudaMemcpyAsync_v3020'),
(2453,3415,1,'cudaLaunchKernel_v7000'),
(3669,1978,1,'cudaMemcpyAsync_v3020'),
(2124,3532,1,'cudaLaunchKernel_v7000'),
(3788,1999,1,'cudaMemcpyAsync_v3020'),
(2146,4562,1,'cudaLaunchKernel_v7000'),
(4812,2094,1,'cudaMemcpyAsync_v3020'),
(2237,4458,1,'cudaLaunchKernel_v7000'),
(4868,2026,1,'cudaMemcpyAsync_v3020'),
(2181,4258,1,'cudaLaunchKernel_v7000'),
(4494,2010,1,'cudaMemcpyAsync_v3020'),
(2156,3997,1,'cudaLaunchKernel_v7000'),
(4293,1975,1,'cudaMemcpyAsync_v3020'),
(2127,4425,1,'cudaLaunchKernel_v7000'),
(4826,72689642,1,'cudaDeviceSynchronize_v3020')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO kernel (t0, t1, device, pid, corr, stream, name, grid, regs)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(1006365,3066914,68,7,'consume_input',264,16),
(3688675,3066114,2,7,'consume_input',264,16),
(3679170,3024642,2,7,'consume_input',264,16),
(3638275,3065954,2,7,'consume_input',264,16),
(3687426,3066178,2,7,'consume_input',264,16),
(3687427,3065922,2,7,'consume_input',264,16),
(3687491,3066082,2,7,'consume_input',264,16),
(3679234,3066307,2,7,'consume_input',264,16),
(3680259,3025218,2,7,'consume_input',264,16),
(3639299,3024257,2,7,'consume_input',264,16),
(3639234,3024130,2,7,'consume_input',264,16),
(3647491,3065986,2,7,'consume_input',264,16),
(3680259,3066050,2,7,'consume_input',264,16),
(3680258,3066818,2,7,'consume_input',264,16),
(3680323,3066658,2,7,'consume_input',264,16),
(3680258,3065890,2,7,'consume_input',264,16),
(3680259,3066946,2,7,'consume_input',264,16),
(3688451,3066114,2,7,'consume_input',264,16),
(3688386,3064611,2,7,'consume_input',264,16),
(3680259,3025474,2,7,'consume_input',264,16)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO copy (t0, t1, device, pid, corr, stream, bytes, kind, src, dst)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7,
    column8
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(343100,607745,67,7,33554432,1,1,2),
(3734371,611009,2,7,33554432,1,1,2),
(3686403,606208,2,7,33554432,1,1,2),
(3640322,606209,2,7,33554432,1,1,2),
(3681283,607520,2,7,33554432,1,1,2),
(3682307,610272,2,7,33554432,1,1,2),
(3693570,606496,2,7,33554432,1,1,2),
(3681283,606304,2,7,33554432,1,1,2),
(3681282,606305,2,7,33554432,1,1,2),
(3640323,606465,2,7,33554432,1,1,2),
(3640323,606240,2,7,33554432,1,1,2),
(3640322,606785,2,7,33554432,1,1,2),
(3682595,606369,2,7,33554432,1,1,2),
(3680995,606304,2,7,33554432,1,1,2),
(3681282,606465,2,7,33554432,1,1,2),
(3681283,606433,2,7,33554432,1,1,2),
(3681283,606240,2,7,33554432,1,1,2),
(3681282,607489,2,7,33554432,1,1,2),
(3690499,610656,2,7,33554432,1,1,2),
(3685378,606337,2,7,33554432,1,1,2)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO sync (t0, t1, pid, corr, stream, event, event_sync)
SELECT start, start + column2, 1, corr, column4, column5, column6
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(1172918,72684217,107,NULL,NULL,NULL)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO PROFILER_OVERHEAD (start, end, globalTid, nameId, overheadType)
SELECT start, start + column2, 281474993487873,
    (SELECT id FROM StringIds WHERE value = 'CUPTI'), column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(341835,626982,67,1),
(73587864,40376,-67,3),
(42574,682362,0,1)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
