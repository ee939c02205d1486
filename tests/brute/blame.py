#!/usr/bin/env python3
"""Findings of programs without GPU work against the raw rows (queries/README.md 22.1).

usage: blame.py make SEED           writes a program of random threads as SQL
       blame.py check TRACE JSON    compares each of its findings
"""

import json
import random
import re
import sqlite3
import sys

RUNS, DOES, AWAITS, ASIDE, WAITS, JOINS = range(6)
LEVELS = {"usleep": AWAITS, "poll": AWAITS, "read": AWAITS, "fsync": DOES, "system": DOES,
          "pthread_mutex_lock": WAITS, "pthread_cond_wait": WAITS, "pthread_barrier_wait": WAITS,
          "pthread_join": JOINS}
PID = 10 << 24
LEAST = 0.1  # share of the recording from which a part is a finding


def make(seed):
    r, calls, ranges = random.Random(seed), [], []
    for tid in range(10, 10 + r.randint(2, 6)):
        at, has_ranges = r.randint(0, 5000), tid == 10 or r.random() < 0.8
        names = r.sample(range(1, len(LEVELS) + 1), 3)
        for _ in range(r.randint(20, 60)):
            start = at
            for _ in range(r.randint(1, 4)):
                at += r.choice([0, 0, r.randint(1, 500)])
                end = at + r.randint(1, r.choice([300, 9000]))
                calls.append((at, end, PID + tid, r.choice(names)))
                at = end
            at += r.randint(1, 300)
            if has_ranges and r.random() < 0.8:
                ranges.append((start, at, r.choice(["load", "step", "save"]), PID + tid))
                if r.random() < 0.3 and at - start > 10:
                    ranges.append((start + 3, start + (at - start) // 2, "inner", PID + tid))
    names = ", ".join(f"({i}, '{n}')" for i, n in enumerate(LEVELS, 1))
    print("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);\n"
          f"INSERT INTO StringIds VALUES {names};\n"
          "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER,\n"
          "\tglobalTid INTEGER, correlationId INTEGER, nameId INTEGER);\n"
          "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER,\n"
          "\ttext TEXT, globalTid INTEGER);")
    for i, (start, end, tid, name) in enumerate(calls):
        print(f"INSERT INTO OSRT_API VALUES ({start}, {end}, 27, {tid}, {i}, {name});")
    for start, end, name, tid in ranges:
        print(f"INSERT INTO NVTX_EVENTS VALUES ({start}, {end}, 59, '{name}', {tid});")


def state(thread, at, has_ranges):
    """(range, call, level) of a thread at an instant, or None before its first and after its last event."""
    calls, ranges = thread
    events = calls + ranges
    if not min(e[0] for e in events) <= at < max(e[1] for e in events):
        return None
    inside = [e for e in ranges if e[0] <= at < e[1]]
    place = min(inside, key=lambda e: e[1] - e[0])[2] if inside else None
    call = next((e[2] for e in calls if e[0] <= at < e[1]), None)
    level = LEVELS[call] if call else RUNS
    return place, call, ASIDE if level < WAITS and has_ranges and not ranges else level


def blame(path):
    """{(range, call): [blame, time of threads, count, {thread: blame}, {call: waits}]}, and the length"""
    db, threads, out = sqlite3.connect(path), {}, {}
    for start, end, tid, name in db.execute(
            "SELECT start, end, globalTid, value FROM OSRT_API JOIN StringIds ON id = nameId"):
        threads.setdefault(tid, ([], []))[0].append((start, end, name))
    for start, end, tid, name in db.execute("SELECT start, end, globalTid, text FROM NVTX_EVENTS"):
        threads.setdefault(tid, ([], []))[1].append((start, end, name))
    has_ranges = any(t[1] for t in threads.values())
    row = lambda key: out.setdefault(key, [0, 0, 0, {}, {}])
    times = sorted({x for t in threads.values() for e in t[0] + t[1] for x in e[:2]})
    for a, b in zip(times, times[1:]):
        now = {tid: s for tid, t in threads.items() if (s := state(t, a, has_ranges))}
        least = min((s[2] for s in now.values()), default=None)
        movers = [(tid, s) for tid, s in now.items() if s[2] == least]
        for tid, (place, call, _) in now.items():
            row((place, call))[1] += b - a
        for tid, (place, call, level) in movers:
            x = row((place, call))
            x[0] += (b - a) / len(movers)
            x[3][tid] = x[3].get(tid, 0) + (b - a) / len(movers)
            for _, name, waits in now.values() if level < WAITS else ():
                if waits == WAITS:
                    x[4][name] = x[4].get(name, 0) + (b - a) / len(movers)
    for calls, ranges in threads.values():
        for start, _, name in calls:
            inside = [e for e in ranges if e[0] <= start < e[1]]
            row((min(inside, key=lambda e: e[1] - e[0])[2] if inside else None, name))[2] += 1
        for _, _, name in ranges:
            row((name, None))[2] += 1
    return out, times[-1] - times[0]


def ns_of(text):
    number, unit = text.split()
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def check(path, report):
    want, length = blame(path)
    told = {f["key"]: f for f in json.load(open(report, encoding="utf-8"))["findings"] if f["key"].startswith("host_")}
    bad = []
    for (place, call), (ns, thread_ns, count, _, waits) in want.items():
        if not (place or call) or ns < LEAST * length:
            continue
        name = f"{call} in {place}" if place and call else call or place
        f = told.pop(f"host_os_calls:{name}" if call else f"host_ranges:{name}", None)
        if not f:
            if sum(x[0] > ns for x in want.values()) < 4:
                bad.append(f"{name}: no finding, {ns} of {length} ns")
            continue
        text = " ".join(f["evidence"])
        whole, n = re.match(r"([\d.]+ \S+) in (\d+)", text).groups()
        wait = re.search(r"wait ([\d.]+ \S+) for it, most in (\w+)", text)
        most = max(waits.items(), key=lambda x: x[1], default=None)
        share = float(re.search(r"([\d.]+) % of the", f["title"]).group(1))
        good = (abs(share - 100 * ns / length) <= 0.51 and int(n) == count
                and abs(ns_of(whole) - thread_ns) <= 0.006 * thread_ns and bool(wait) == bool(most)
                and (not wait or (abs(ns_of(wait.group(1)) - most[1]) <= 0.006 * most[1] + 1 and wait.group(2) == most[0])))
        if not good:
            bad.append(f"{name}: {f['title']}; {text}: want {ns} of {length}, {thread_ns}, {count}, {most}")
    bad += [f"{key}: not more than {LEAST} of the time" for key in told]
    print("\n".join(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(make(int(sys.argv[2])) if sys.argv[1] == "make" else check(*sys.argv[2:]))
