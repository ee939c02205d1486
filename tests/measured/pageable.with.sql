-- pageable, with: 20 steps on an NVIDIA H200, as captured; README.md says how.
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
(0,2183311,0,'step'),
(2184265,4477974,0,'step'),
(4478390,4525808,0,'step'),
(4526102,4527645,0,'step'),
(4527929,4541635,0,'step'),
(4541937,4474449,0,'step'),
(4474846,4540898,0,'step'),
(4541224,4513343,0,'step'),
(4513661,4528727,0,'step'),
(4529002,4546099,0,'step'),
(4546485,4531553,0,'step'),
(4532191,4599309,0,'step'),
(4600065,4514091,0,'step'),
(4514792,4538180,0,'step'),
(4538694,4558035,0,'step'),
(4558575,4530404,0,'step'),
(4531453,4563928,0,'step'),
(4565366,4543207,0,'step'),
(4544452,4678969,0,'step'),
(4679844,4522921,0,'step')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO api (t0, t1, pid, corr, name)
SELECT start, start + column2, 1, corr, column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(3310,2156431,12,'cudaMemcpyAsync_v3020'),
(2158235,21383,1,'cudaLaunchKernel_v7000'),
(22996,4464098,1,'cudaMemcpyAsync_v3020'),
(4464826,12696,1,'cudaLaunchKernel_v7000'),
(13506,4518667,1,'cudaMemcpyAsync_v3020'),
(4519053,6436,1,'cudaLaunchKernel_v7000'),
(6999,4518949,1,'cudaMemcpyAsync_v3020'),
(4519472,7921,1,'cudaLaunchKernel_v7000'),
(8459,4526800,1,'cudaMemcpyAsync_v3020'),
(4527248,14114,1,'cudaLaunchKernel_v7000'),
(14679,4465864,1,'cudaMemcpyAsync_v3020'),
(4466343,7836,1,'cudaLaunchKernel_v7000'),
(8506,4531735,1,'cudaMemcpyAsync_v3020'),
(4532354,8280,1,'cudaLaunchKernel_v7000'),
(8867,4506594,1,'cudaMemcpyAsync_v3020'),
(4506868,6241,1,'cudaLaunchKernel_v7000'),
(6777,4521846,1,'cudaMemcpyAsync_v3020'),
(4522448,6041,1,'cudaLaunchKernel_v7000'),
(6638,4536806,1,'cudaMemcpyAsync_v3020'),
(4537329,8428,1,'cudaLaunchKernel_v7000'),
(9077,4525027,1,'cudaMemcpyAsync_v3020'),
(4525527,5795,1,'cudaLaunchKernel_v7000'),
(6664,4588129,1,'cudaMemcpyAsync_v3020'),
(4589146,9882,1,'cudaLaunchKernel_v7000'),
(10956,4507278,1,'cudaMemcpyAsync_v3020'),
(4507715,6098,1,'cudaLaunchKernel_v7000'),
(7052,4531584,1,'cudaMemcpyAsync_v3020'),
(4531921,6015,1,'cudaLaunchKernel_v7000'),
(6770,4548499,1,'cudaMemcpyAsync_v3020'),
(4548995,8783,1,'cudaLaunchKernel_v7000'),
(9586,4522094,1,'cudaMemcpyAsync_v3020'),
(4522608,7484,1,'cudaLaunchKernel_v7000'),
(8886,4537902,1,'cudaMemcpyAsync_v3020'),
(4539633,23781,1,'cudaLaunchKernel_v7000'),
(25925,4522156,1,'cudaMemcpyAsync_v3020'),
(4523633,18922,1,'cudaLaunchKernel_v7000'),
(20761,4662444,1,'cudaMemcpyAsync_v3020'),
(4663276,15049,1,'cudaLaunchKernel_v7000'),
(16575,4509282,1,'cudaMemcpyAsync_v3020'),
(4509899,12470,1,'cudaLaunchKernel_v7000'),
(13362,3085027,1,'cudaDeviceSynchronize_v3020')) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO kernel (t0, t1, device, pid, corr, stream, name, grid, regs)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(2183169,3025122,13,7,'consume_input',264,16),
(4494979,3064963,2,7,'consume_input',264,16),
(4531140,3065890,2,7,'consume_input',264,16),
(4528131,3065986,2,7,'consume_input',264,16),
(4533251,3024610,2,7,'consume_input',264,16),
(4483075,3065602,2,7,'consume_input',264,16),
(4541507,3066531,2,7,'consume_input',264,16),
(4512771,3065923,2,7,'consume_input',264,16),
(4530180,3065826,2,7,'consume_input',264,16),
(4546563,3065186,2,7,'consume_input',264,16),
(4531139,3065987,2,7,'consume_input',264,16),
(4591620,3066370,2,7,'consume_input',264,16),
(4523011,3066050,2,7,'consume_input',264,16),
(4539395,3064899,2,7,'consume_input',264,16),
(4557891,3066179,2,7,'consume_input',264,16),
(4531204,3024930,2,7,'consume_input',264,16),
(4543939,3065442,2,7,'consume_input',264,16),
(4546052,3065474,2,7,'consume_input',264,16),
(4679907,3066274,2,7,'consume_input',264,16),
(4535075,3065890,2,7,'consume_input',264,16)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO copy (t0, t1, device, pid, corr, stream, bytes, kind, src, dst)
SELECT start, start + column2, 0, 1, corr, column4, column5, column6, column7,
    column8
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(74176,1458720,12,7,33554432,1,0,2),
(5135459,1460161,2,7,33554432,1,0,2),
(4538371,1455585,2,7,33554432,1,0,2),
(4535299,1446466,2,7,33554432,1,0,2),
(4528132,1453825,2,7,33554432,1,0,2),
(4485123,1449313,2,7,33554432,1,0,2),
(4529155,1460705,2,7,33554432,1,0,2),
(4537348,1440193,2,7,33554432,1,0,2),
(4516867,1452289,2,7,33554432,1,0,2),
(4532227,1463937,2,7,33554432,1,0,2),
(4545539,1453409,2,7,33554432,1,0,2),
(4529156,1517697,2,7,33554432,1,0,2),
(4589571,1448641,2,7,33554432,1,0,2),
(4526083,1462369,2,7,33554432,1,0,2),
(4533251,1483970,2,7,33554432,1,0,2),
(4559172,1456993,2,7,33554432,1,0,2),
(4497091,1502305,2,7,33554432,1,0,2),
(4578307,1476193,2,7,33554432,1,0,2),
(4546564,1603745,2,7,33554432,1,0,2),
(4682755,1460001,2,7,33554432,1,0,2)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO sync (t0, t1, pid, corr, stream, event, event_sync)
SELECT start, start + column2, 1, corr, column4, column5, column6
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(88455913,3080461,52,NULL,NULL,NULL)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
INSERT INTO PROFILER_OVERHEAD (start, end, globalTid, nameId, overheadType)
SELECT start, start + column2, 281474993487873,
    (SELECT id FROM StringIds WHERE value = 'CUPTI'), column4
FROM (SELECT *, sum(column1) OVER so_far AS start, sum(column3) OVER so_far AS corr
    FROM (VALUES
(1511122,642811,12,1),
(90101713,30139,-12,3),
(43853,850180,0,1)) WINDOW so_far AS (ROWS UNBOUNDED PRECEDING));
