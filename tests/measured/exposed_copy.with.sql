-- exposed_copy, with: 20 steps on an NVIDIA H200, as captured; README.md says how.
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
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (15, 0, 1, 1, 1, 0, 2);
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (16, 0, 1, 1, 1, 0, 2);
INSERT INTO nvtx (t0, t1, pid, text)
SELECT start, start + column2, 1, column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(0,570809,0,'step'),
(571618,11775,0,'step'),
(11861,6462,0,'step'),
(6532,6683,0,'step'),
(6771,5855,0,'step'),
(5945,6224,0,'step'),
(6311,6259,0,'step'),
(6360,7129,0,'step'),
(7214,8888,0,'step'),
(8975,7838,0,'step'),
(7916,7838,0,'step'),
(7903,6419,0,'step'),
(6500,6527,0,'step'),
(6611,7982,0,'step'),
(8065,7794,0,'step'),
(7876,7361,0,'step'),
(7440,9249,0,'step'),
(9335,6307,0,'step'),
(6371,6768,0,'step'),
(6843,5252,0,'step')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO api (t0, t1, pid, corr, name)
SELECT start, start + column2, 1, corr, column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(4167,540822,25,'cudaMemcpyAsync_v3020'),
(542092,24306,1,'cudaLaunchKernel_v7000'),
(25688,5954,1,'cudaMemcpyAsync_v3020'),
(6146,5225,1,'cudaLaunchKernel_v7000'),
(5556,2759,1,'cudaMemcpyAsync_v3020'),
(2918,3293,1,'cudaLaunchKernel_v7000'),
(3596,2221,1,'cudaMemcpyAsync_v3020'),
(2383,4080,1,'cudaLaunchKernel_v7000'),
(4566,2110,1,'cudaMemcpyAsync_v3020'),
(2266,3178,1,'cudaLaunchKernel_v7000'),
(3456,1949,1,'cudaMemcpyAsync_v3020'),
(2108,3942,1,'cudaLaunchKernel_v7000'),
(4230,1923,1,'cudaMemcpyAsync_v3020'),
(2078,3983,1,'cudaLaunchKernel_v7000'),
(4286,2196,1,'cudaMemcpyAsync_v3020'),
(2358,4566,1,'cudaLaunchKernel_v7000'),
(4861,2034,1,'cudaMemcpyAsync_v3020'),
(2192,6487,1,'cudaLaunchKernel_v7000'),
(6746,2094,1,'cudaMemcpyAsync_v3020'),
(2252,5399,1,'cudaLaunchKernel_v7000'),
(5671,2043,1,'cudaMemcpyAsync_v3020'),
(2248,5412,1,'cudaLaunchKernel_v7000'),
(5650,1785,1,'cudaMemcpyAsync_v3020'),
(1942,4298,1,'cudaLaunchKernel_v7000'),
(4557,1855,1,'cudaMemcpyAsync_v3020'),
(2009,4343,1,'cudaLaunchKernel_v7000'),
(4599,1888,1,'cudaMemcpyAsync_v3020'),
(2041,5768,1,'cudaLaunchKernel_v7000'),
(6027,1829,1,'cudaMemcpyAsync_v3020'),
(1985,5635,1,'cudaLaunchKernel_v7000'),
(5892,1770,1,'cudaMemcpyAsync_v3020'),
(1927,5262,1,'cudaLaunchKernel_v7000'),
(5519,1828,1,'cudaMemcpyAsync_v3020'),
(1984,7085,1,'cudaLaunchKernel_v7000'),
(7341,1841,1,'cudaMemcpyAsync_v3020'),
(1996,4141,1,'cudaLaunchKernel_v7000'),
(4379,1805,1,'cudaMemcpyAsync_v3020'),
(1964,4630,1,'cudaLaunchKernel_v7000'),
(4880,1917,1,'cudaMemcpyAsync_v3020'),
(2075,2990,1,'cudaLaunchKernel_v7000'),
(3542,85866477,1,'cudaDeviceSynchronize_v3020')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO kernel (t0, t1, device, pid, corr, stream, name, grid, regs)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(1239886,3087585,26,15,'consume_input',264,16),
(4311329,3088736,2,15,'consume_input',264,16),
(4310017,3088800,2,15,'consume_input',264,16),
(4312160,3088481,2,15,'consume_input',264,16),
(4311041,3128193,2,15,'consume_input',264,16),
(4344801,3129921,2,15,'consume_input',264,16),
(4353280,3128417,2,15,'consume_input',264,16),
(4343937,3088449,2,15,'consume_input',264,16),
(4305505,3087073,2,15,'consume_input',264,16),
(4312129,3088544,2,15,'consume_input',264,16),
(4308128,3128001,2,15,'consume_input',264,16),
(4344673,3088225,2,15,'consume_input',264,16),
(4312193,3088192,2,15,'consume_input',264,16),
(4311009,3129408,2,15,'consume_input',264,16),
(4343681,3128544,2,15,'consume_input',264,16),
(4352000,3127457,2,15,'consume_input',264,16),
(4348769,3088737,2,15,'consume_input',264,16),
(4302945,3088096,2,15,'consume_input',264,16),
(4311072,3128097,2,15,'consume_input',264,16),
(4352225,3127873,2,15,'consume_input',264,16)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO copy (t0, t1, device, pid, corr, stream, bytes, kind, src, dst)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7,
    column8
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(23470,1210368,25,15,67108864,1,1,2),
(4308801,1210048,2,15,67108864,1,1,2),
(4308960,1211521,2,15,67108864,1,1,2),
(4310017,1213184,2,15,67108864,1,1,2),
(4312065,1211264,2,15,67108864,1,1,2),
(4350977,1210368,2,15,67108864,1,1,2),
(4351008,1209728,2,15,67108864,1,1,2),
(4348929,1209984,2,15,67108864,1,1,2),
(4301793,1209824,2,15,67108864,1,1,2),
(4309025,1210688,2,15,67108864,1,1,2),
(4308960,1210305,2,15,67108864,1,1,2),
(4349985,1210016,2,15,67108864,1,1,2),
(4308993,1209856,2,15,67108864,1,1,2),
(4308993,1210496,2,15,67108864,1,1,2),
(4349952,1209824,2,15,67108864,1,1,2),
(4341761,1212704,2,15,67108864,1,1,2),
(4352001,1209920,2,15,67108864,1,1,2),
(4308960,1210017,2,15,67108864,1,1,2),
(4308993,1209825,2,15,67108864,1,1,2),
(4349985,1209888,2,15,67108864,1,1,2)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO sync (t0, t1, pid, corr, stream, event, event_sync)
SELECT start, start + column2, 1, corr, column4, column5, column6
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(714155,85860365,65,NULL,NULL,NULL)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO PROFILER_OVERHEAD (start, end, globalTid, nameId, overheadType)
SELECT start, start + column2, 281474993487873,
    (SELECT id FROM StringIds WHERE value = 'CUPTI'), column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(23117,517279,25,1),
(86829339,45744,-25,3),
(61237,679539,0,1)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
