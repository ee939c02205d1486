#!/usr/bin/env python3
"""Compares a report of `fleet` with the fault that gen.c planted.
usage: check.py DIR REPORT.json [steps]
Prints the differences, and exits with 1 if there are any. steps: the report is of digests without
times of collectives.
"""
import json
import os
import sys

truth = json.load(open(os.path.join(sys.argv[1], 'truth.json')))
report = json.load(open(sys.argv[2]))
fleet = report['metrics']['fleet']
fault, wrong = truth['fault'], []
late = fleet['stragglers']


def expect(is_right, what):
    if not is_right:
        wrong.append(what)


def numbers(text):
    out = set()
    for part in text.split(', '):
        span, _, by = part.partition(' by ')
        ends = [int(x) for x in span.split('-')]
        out |= set(range(ends[0], ends[-1] + 1, int(by or 1)))
    return out


expect(abs(fleet['step_ms'] / truth['step_ms'] - 1) < .02, 'step of %s ms, not %s' % (fleet['step_ms'], truth['step_ms']))
if fault == 'desync':
    expect([d['rank'] for d in fleet['desync']] == truth['culprits'], 'differences: %s' % fleet['desync'])
    expect(not late, 'named as late: %s' % [x['ranks'] for x in late])
else:
    expect(not fleet['desync'], 'differences: %s' % fleet['desync'])
    expect([x['ranks'] for x in late] == ([truth['culprits']] if truth['culprits'] else []), 'named: %s, planted: %s' % ([x['ranks'] for x in late], truth['culprits']))
    expect(fleet['is_rotating'] == (fault == 'rotating'), 'is_rotating is %s' % fleet['is_rotating'])
if late and fault != 'desync':
    expect(late[0]['cause'] == truth['cause'], 'cause %s, planted %s' % (late[0]['cause'], truth['cause']))
    lost = late[0]['recoverable_pct_of_step'] / 100
    expect(abs(lost - truth['loss_share']) < .02, 'loss %.4f, planted %.4f' % (lost, truth['loss_share']))
    expect((late[0]['kind'] == 'transient') == (fault == 'transient'), 'kind %s' % late[0]['kind'])
# A single late rank costs a step at most the time by which it is slower.
for x in late:
    expect(len(x['ranks']) > 1 or x['kind'] == 'transient' or x['recoverable_ms'] <= 1.02 * x['excess_ms'], 'of %s %s of %s ms can be won' % (x['ranks'], x['recoverable_ms'], x['excess_ms']))
# Offsets are relative to the first clock. Stamps of both sides may be off by 15 us, and clocks drift by 20 ppm.
clocks = fleet['clocks'] if len(sys.argv) < 4 else fleet['clocks'][:1]
first = truth['offset_us'][min(numbers(clocks[0]['ranks']))]
for c in clocks:
    true = truth['offset_us'][min(numbers(c['ranks']))] - first
    expect(c['lo_us'] is not None and c['lo_us'] - 50 <= true <= c['hi_us'] + 50, 'offset %s is not in %s..%s' % (true, c['lo_us'], c['hi_us']))
expect((fleet['frontier'] == []) == (len(sys.argv) > 3), 'the frontier has %d stages' % len(fleet['frontier']))
frontier = sum(r['total_ns'] for r in fleet['frontier'])
expect(len(fleet['frontier']) in (0, 50) or abs(frontier / 1e6 / fleet['steps'] / fleet['step_ms'] - 1) < .001, 'the frontier adds up to %s ns' % frontier)
# Ranks wait at most as long as the faults and the random kernel lengths cost, because a wait beside kernels costs nothing. In a pipeline stages also wait for other stages.
waiting = sum(r[k] for r in fleet['frontier'] for k in r if k.startswith('excess_'))
expect(truth.get('is_pipeline') or waiting <= frontier * (truth['loss_share'] + .02), 'waiting for ranks is %.4f of the steps, planted %.4f' % (waiting / max(frontier, 1), truth['loss_share']))
for w in wrong:
    print('%s: %s' % (sys.argv[1], w))
sys.exit(1 if wrong else 0)
