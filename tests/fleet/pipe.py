#!/usr/bin/env python3
"""A job of 2 x 2 x 4 ranks (tensor, data, pipeline) with a known answer, as traces.

In each step 4 micro-batches go forward through the stages and 4 back. After each come an allreduce
of the tensor pair and a send to the next stage. Then come reducescatter, optimizer and allgather of
the data pair, and an allreduce of all ranks. All collectives are waited for. Clocks of hosts are off
by up to 5 ms.

usage: pipe.py DIR none | gpu_slow RANK | late RANK | stage STAGE | border STAGE  [payload] [group] [alone] [norm] [ring] [worst]
  gpu_slow: kernels take 8 % longer; late: 1.5 ms in a call before the step;
  stage: kernels of a stage take 15 % longer; border: each stage is on its own host, and sends to the
  stage after it take 20 times as long;
  payload: NCCL names its communicators; group: the stages of a pipeline share one;
  alone: 4 ranks, a stage each, that only send to each other; norm: they also make an
  allreduce of all ranks;
  ring: instead of a pipeline, each rank passes on blocks of keys and values to the next one of four;
  worst: kernels of the slow stage's first rank take another 10 % longer
"""
import json
import os
import random
import sqlite3
import sys

alone = 'alone' in sys.argv
TP, DP, PP, STEPS, MICRO, HOSTS = 1 if alone else 2, 1 if alone else 2, 4, 16, 4, 4 if 'border' in sys.argv else 2
N = TP * DP * PP
CAUSES = {'none': '', 'gpu_slow': 'gpu_slow', 'late': 'idle', 'stage': 'gpu_slow', 'border': 'slow_link'}
where, fault, payload = sys.argv[1], sys.argv[2], 'payload' in sys.argv
who = int(sys.argv[3]) if fault != 'none' else -1
culprits = [] if fault == 'none' else [r for r in range(N) if who in {'stage': [r // (TP * DP)], 'border': [r // (TP * DP), r // (TP * DP) - 1]}.get(fault, [r])]


def rank(t, d, p):
    return t + TP * (d + DP * p)


class Job:
    """Times in ns; events of a rank: (start, end, name, stream, communicator)."""

    def __init__(self, is_faulty):
        self.dice, self.is_faulty = random.Random(5), is_faulty
        self.events, self.steps = [[] for _ in range(N)], [[] for _ in range(N)]
        self.now, self.stream, self.idle_at = [0.] * N, {}, [40e6] * N

    def compute(self, r, ns, name):
        factor = 1 + 0.004 * self.dice.gauss(0, 1)
        if self.is_faulty and r in culprits and fault in ('gpu_slow', 'stage'):
            factor *= 1.08 if fault == 'gpu_slow' else 1.15
            factor *= 1.1 if 'worst' in sys.argv and r == culprits[0] else 1
        start = self.now[r] + 1000
        self.now[r] = start + ns * factor
        self.events[r].append((start, self.now[r], name, 7, None))

    def together(self, ranks, name, stream, ns, comm):
        if alone and name != 'SendRecv' and (comm != 'all' or 'norm' not in sys.argv):
            return
        starts = {r: max(self.now[r] + 1200, self.stream.get((r, stream), 0) + 1100) for r in ranks}
        end = max(starts.values()) + ns
        for r in ranks:
            self.events[r].append((starts[r], end, name, stream, comm))
            self.now[r] = self.stream[r, stream] = end

    def pass_through(self, is_back):
        for p in reversed(range(PP)) if is_back else range(PP):
            before = p + 1 if is_back else p - 1
            for d in range(DP):
                for t in range(TP):
                    if 0 <= before < PP:
                        self.together([rank(t, d, before), rank(t, d, p)], 'SendRecv', 30 + is_back, 60e3 * (20 if self.is_faulty and fault == 'border' and min(p, before) == who else 1), 'pp %d %d %d' % (t, d, 0 if 'group' in sys.argv else min(p, before)))
                for t in range(TP):
                    self.compute(rank(t, d, p), 2e6 if is_back else 1e6, 'gemm_back' if is_back else 'gemm')
                self.together([rank(t, d, p) for t in range(TP)], 'AllReduce', 24, 80e3, 'tp %d %d' % (d, p))

    def around(self):
        for d in range(DP):
            for t in range(TP):
                ring = [rank(t, d, p) for p in range(PP)]
                starts = [self.now[r] + 1200 for r in ring]
                for p, r in enumerate(ring):
                    self.now[r] = max(starts[p - 1], starts[p], starts[(p + 1) % PP]) + 60e3
                    self.events[r].append((starts[p], self.now[r], 'SendRecv', 30, 'ring %d %d' % (t, d)))
                    self.compute(r, 1e6, 'attention')

    def step(self):
        for r in range(N):
            host = self.idle_at[r] + 100e3
            data = host + 60e3 + 20e3 * self.dice.random() + 1.5e6 * (self.is_faulty and fault == 'late' and r in culprits)
            self.now[r] = data + 15e3
            self.steps[r].append([host, data])
        for is_back in (False, True):
            for _ in range(MICRO):
                self.around() if 'ring' in sys.argv else self.pass_through(is_back)
        for p in range(PP):
            for t in range(TP):
                pair = [rank(t, d, p) for d in range(DP)]
                self.together(pair, 'ReduceScatter', 20, 600e3, 'dp %d %d' % (t, p))
                for r in pair:
                    self.compute(r, 500e3, 'adam')
                self.together(pair, 'AllGather', 20, 600e3, 'dp %d %d' % (t, p))
        self.together(range(N), 'AllReduce', 28, 40e3, 'all')
        for r in range(N):
            self.steps[r][-1].append(self.now[r])
            self.idle_at[r] = self.now[r] + 8000

    def run(self):
        for _ in range(STEPS):
            self.step()
        return (self.steps[0][-1][2] - self.steps[0][0][2]) / (STEPS - 1)


def write(job, r, offset):
    begin = 30e6 * random.Random(r).random()
    path = '%s/traces/rank%d.sqlite' % (where, r)
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.executescript('''
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
        CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER, jsonText TEXT);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER);
        CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
        CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);''')
    names, tid = {}, 1 << 48 | (100 + r) << 24 | (100 + r)
    launches = [s[1] + 5000 for s in job.steps[r]]

    def name_id(name):
        if name not in names:
            names[name] = len(names) + 1
            db.execute('INSERT INTO StringIds VALUES (?,?)', (names[name], name))
        return names[name]

    def insert(table, *row):
        db.execute('INSERT INTO %s VALUES (%s)' % (table, ','.join('?' * len(row))), row)

    def at(t):
        return int(t - begin)

    step = -1
    for i, (start, end, name, stream, comm) in enumerate(sorted(job.events[r], key=lambda e: e[0])):
        while step + 1 < STEPS and launches[step + 1] <= start:
            step += 1
            launch = launches[step]
        if launch >= begin:
            insert('CUPTI_ACTIVITY_KIND_RUNTIME', at(launch), at(launch + 3000), 0, tid, i, name_id('cudaLaunchKernel_v7000'), 0)
            if payload and comm:
                insert('NVTX_EVENTS', at(launch - 200), at(launch + 3200), 59, 'nccl' + name.replace('SendRecv', 'Send'), tid, 1,
                       json.dumps({'NCCL communicator ID': int.from_bytes(comm.encode(), 'big') % 2 ** 61, 'Message size [bytes]': 4 << 20}))
        launch += 3500
        if start >= begin:
            kernel = name_id('ncclDevKernel_%s_RING_LL' % name if comm else name)
            insert('CUPTI_ACTIVITY_KIND_KERNEL', at(start), at(end), 0, 1, stream, i, tid >> 24 << 24, kernel, kernel)
    for host, data, end in job.steps[r]:
        if host >= begin:
            insert('NVTX_EVENTS', at(host), at(end + 50000), 59, 'step', tid, 0, None)
            insert('OSRT_API', at(host + 1000), at(data), 27, tid, name_id('pthread_cond_timedwait'), 0, 0)
            insert('CUPTI_ACTIVITY_KIND_RUNTIME', at(end - 1000), at(end + 8000), 0, tid, 0, name_id('cudaStreamSynchronize_v3020'), 0)
    if payload:
        insert('NVTX_EVENTS', 0, None, 75, 'NCCL', tid, 1, None)
    insert('TARGET_INFO_SESSION_START_TIME', 1757000000000000000 + int(begin + offset), 812345000000000 + int(begin + offset))
    insert('TARGET_INFO_SYSTEM_ENV', 'Hostname', 'node%d' % (r * HOSTS // N))
    insert('META_DATA_CAPTURE', 'ENVIRONMENT_VARIABLE', 'WORLD_SIZE=%d' % N)
    insert('META_DATA_CAPTURE', 'ENVIRONMENT_VARIABLE', 'RANK=%d' % r)
    db.commit()
    db.close()


os.makedirs(where + '/traces', exist_ok=True)
job, healthy = Job(True), Job(False)
step_ns, healthy_ns = job.run(), healthy.run()
if step_ns - healthy_ns < 1e-3 * step_ns:
    culprits = []  # hidden: its stage waits for the one before it anyway
offsets = [random.Random(h + 7).uniform(-5e6, 5e6) for h in range(HOSTS)]
for r in range(N):
    write(job, r, offsets[r * HOSTS // N])
json.dump({'is_pipeline': True, 'fault': fault, 'cause': CAUSES[fault], 'ranks': N, 'step_ms': step_ns / 1e6, 'loss_share': 1 - healthy_ns / step_ns, 
           'culprits': culprits, 'offset_us': [offsets[r * HOSTS // N] / 1e3 for r in range(N)]}, open(where + '/truth.json', 'w'))
