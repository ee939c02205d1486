#!/usr/bin/env python3
"""Engines of one model that serve requests, each of its own, as traces with a known answer.

An engine prefills prompts and decodes batches whose size varies, and waits now and then for
requests. The engines share no collective; with tp=2 two ranks of an engine do.

usage: serve.py DIR FAULT [engines=8 tp=1 seed=1 strength=100]
  none; gpu_slow: the kernels of one engine take 12 % longer; cpu_late: one engine's scheduler takes
  200 us longer before each step; load: one engine decodes twice the requests, which is no fault;
  apart: half of the engines only prefill, the others decode, and a decoding one is gpu_slow
"""
import json
import os
import random
import sqlite3
import sys

where, fault = sys.argv[1:3]
job = {'engines': 8, 'tp': 1, 'seed': 1, 'strength': 100}
job.update((k, int(v)) for k, v in (a.split('=') for a in sys.argv[3:]))
STEPS, LAYERS, HOST = 160, 8, 'node%d'
dice = random.Random(job['seed'])
half = job['engines'] // 2
who = half + dice.randrange(job['engines'] - half) if fault == 'apart' else dice.randrange(job['engines'])
names, strength = {}, job['strength'] / 100


def sizes(engine):
    """What the steps of an engine do: prompts, their tokens, decoded requests."""
    batch = 32
    for _ in range(STEPS):
        batch = min(60, max(16, batch + dice.randint(-3, 3)))
        only_prefill = fault == 'apart' and engine < half
        if only_prefill or (fault != 'apart' and dice.random() < .15):
            prompts = dice.randint(1, 4)
            yield prompts, prompts * dice.randint(200, 900), 0
        else:
            yield 0, 0, batch * (2 if fault == 'load' and engine == who else 1)


def ready(db, engine, r):
    tid = 1 << 48 | (1000 + 10 * engine + r) << 24 | (1000 + 10 * engine + r)
    db.executescript('''
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER, jsonText TEXT);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER);
        CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
        CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);''')
    for i, name in enumerate(('gemm', 'attention', 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL', 'cudaLaunchKernel_v7000', 'cudaStreamSynchronize_v3020')):
        names[name] = i + 1
        db.execute('INSERT INTO StringIds VALUES (?,?)', (i + 1, name))
    begin = 1757000000000000000 + engine * 7919
    db.execute('INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?,?)', (begin, begin - 1756900000000000000))
    db.execute('INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (?,?)', ('Hostname', HOST % (engine // 2)))
    for name, value in (('RANK', r), ('WORLD_SIZE', job['tp'])):
        db.execute('INSERT INTO META_DATA_CAPTURE VALUES (?,?)', ('ENVIRONMENT_VARIABLE', '%s=%d' % (name, value)))
    return tid


def serve(engine):
    dbs, tids = [], []
    for r in range(job['tp']):
        path = '%s/traces/engine%d_worker%d.sqlite' % (where, engine, r)
        if os.path.exists(path):
            os.remove(path)
        dbs.append(sqlite3.connect(path))
        tids.append(ready(dbs[r], engine, r))
    slow = 1 + .12 * strength if fault in ('gpu_slow', 'apart') and engine == who else 1
    now, corr = [1e6] * job['tp'], 0
    for prompts, tokens, decodes in sizes(engine):
        pause = 4e6 * dice.random() if dice.random() < .1 else 0
        late = 200e3 * strength if fault == 'cpu_late' and engine == who else 0
        host = [t + 60e3 + 20e3 * dice.random() + pause + late for t in now]
        gpu = [t + 12e3 for t in host]
        begin = list(host)
        for layer in range(LAYERS):
            for name, ns in (('gemm', 30e3 + 300 * decodes + 150 * tokens), ('attention', 20e3 + 500 * decodes + 60 * tokens)):
                corr += 1
                for r, db in enumerate(dbs):
                    db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0)', (int(host[r]), int(host[r] + 3000), tids[r], corr, names['cudaLaunchKernel_v7000']))
                    start = max(gpu[r] + 1000, host[r] + 4000)
                    gpu[r] = start + ns * slow * (1 + .01 * dice.gauss(0, 1))
                    db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,?,?)', (int(start), int(gpu[r]), corr, tids[r] >> 24 << 24, names[name], names[name]))
                    host[r] += 5000
            if job['tp'] > 1:
                corr += 1
                end = max(gpu) + 20e3
                for r, db in enumerate(dbs):
                    nccl = names['ncclDevKernel_AllReduce_Sum_bf16_RING_LL']
                    db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0)', (int(host[r]), int(host[r] + 3000), tids[r], corr, names['cudaLaunchKernel_v7000']))
                    db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,?,?)', (int(gpu[r] + 1000), int(end), corr, tids[r] >> 24 << 24, nccl, nccl))
                    gpu[r], host[r] = end, host[r] + 5000
        for r, db in enumerate(dbs):
            db.execute('INSERT INTO NVTX_EVENTS VALUES (?,?,59,?,?,0,NULL)', (int(begin[r] - 5000), int(gpu[r] + 5000), 'execute_context_%d(%d)_generation_%d(%d)' % (prompts, tokens, decodes, decodes), tids[r]))
            db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0)', (int(host[r]), int(gpu[r] + 4000), tids[r], 0, names['cudaStreamSynchronize_v3020']))
            now[r] = gpu[r] + 6000
    for db in dbs:
        db.commit()
        db.close()


os.makedirs(where + '/traces', exist_ok=True)
for e in range(job['engines']):
    serve(e)
json.dump({'fault': fault, 'engine': None if fault in ('none', 'load') else who, 'tp': job['tp'],
           'pids': [] if fault in ('none', 'load') else [1000 + 10 * who + r for r in range(job['tp'])],
           'cause': {'gpu_slow': 'gpu_slow', 'apart': 'gpu_slow', 'cpu_late': 'idle'}.get(fault, '')}, open(where + '/truth.json', 'w'))
