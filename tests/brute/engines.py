#!/usr/bin/env python3
"""A made-up capture of engines, as SQL for mkfixture: engines.py SEED [PID].

One to three processes on one or two GPUs, each with up to two threads that run steps of one engine.
Steps lie in steps, overlap, launch nothing or copy only; names may lack their tokens; some launches are
outside of steps; streams overlap, and graphs are recorded as a whole or by node.
"""

import random
import sys

KERNELS = ("attention", "gemm", "rms_norm_kernel", "fused_moe_kernel", "mystery",
           "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "TopPSamplingFromProbKernel")


def step_name(r, engine):
    p, d = r.choice((0, 0, 0, 1, 2)), r.choice((0, 1, 4, 4, 5, 8, 33))
    P, n = p * r.randint(1, 300), r.randint(0, 99)
    return r.choice({
        "vLLM": (f"execute_context_{p}({P})_generation_{d}({d + r.choice((0, 0, 3))})",
                 f"execute_new_{p}_cached_{d}",
                 f"execute_{P + d}_context_{p}(sq{P}sk{P + 9}sqsq{P * P}sqsk{P * (P + 9)})"
                 f"_generation_{d}(sq{d}sk{d << 40}sqsq{d}sqsk{d << 40})"),
        "SGLang": (f"step[DECODE bs={d}]", f"step[DECODE bs={d}]", f"step[TARGET_VERIFY bs={d}]",
                   f"step[EXTEND bs={p or 1} toks={P or 7}]", f"step[EXTEND bs={p or 1}]",
                   f"step[MIXED bs={p + d}]", f"step[MIXED bs={p + d} toks={P + d}]", "step[IDLE bs=0]"),
        "TensorRT-LLM": (f"[Executor] _forward_step {n}: {p} ctx reqs, {P} ctx tokens, {d} gen reqs",
                         f"[Executor] _forward_step {n}: {p} ctx reqs, {d} gen reqs",
                         f"[Executor] _forward_step: {p} ctx reqs, {d} gen reqs",
                         f"_forward_step: {p} ctx reqs, {d} gen reqs"),
        "loop": (f"iteration {n}", f"ProfilerStep#{n}", "iteration", f"step_{n}", "train_step",
                 f"iter_{n}", f"batch_{n}", f"Batch {n}")}[engine])


class Thread:
    """A thread that launches, with its own streams."""

    def __init__(self, r, sql, pid, tid, device, first_stream):
        self.r, self.sql, self.pid, self.tid, self.device = r, sql, pid, tid, device
        self.free = {first_stream + i: 0 for i in range(3)}  # by stream: end of its last work
        self.corr = 100000 * tid

    def add(self, table, columns, *values):
        text = ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in values)
        self.sql.append(f"INSERT INTO {table} ({columns}) VALUES ({text});")

    def call(self, at, name):
        """Returns when the call ends, and when its work may begin on which stream."""
        end, stream = at + self.r.randint(2000, 9000), self.r.choice(list(self.free))
        self.corr += 1
        self.add("api", "t0, t1, pid, tid, corr, name", at, end, self.pid, self.tid, self.corr, name)
        return end, max(self.free[stream], at + self.r.randint(1500, 30000)), stream

    def work(self, table, t0, t1, stream, columns, *values):
        self.add(table, "t0, t1, device, stream, corr, pid, " + columns, t0, t1, self.device, stream,
                 self.corr, self.pid, *values)
        self.free[stream] = t1
        return t1

    def launch(self, at):
        r, what = self.r, self.r.random()
        length = r.randint(500, 90000)
        if what < 0.55:
            end, t, stream = self.call(at, "cudaLaunchKernel_v7000")
            self.work("kernel", t, t + length, stream, "name", r.choice(KERNELS))
            if r.random() < 0.1:
                self.add("api", "t0, t1, pid, tid, corr, name", at + 100, end - 100, self.pid, self.tid,
                         self.corr, "cuLaunchKernel")
        elif what < 0.65:
            end, t, stream = self.call(at, "cudaGraphLaunch_v10000")
            self.work("replay", t, t + length, stream, "graph, exec", 4, 5)
        elif what < 0.75:
            end, t, stream = self.call(at, "cudaGraphLaunch_v10000")
            for node in range(r.randint(1, 4)):
                t = r.randint(0, 3000) + self.work("kernel", t, t + r.randint(500, 20000), stream,
                                                   "name, node", r.choice(KERNELS), 100 + node)
        elif what < 0.95:
            end, t, stream = self.call(at, "cudaMemcpyAsync_v3020")
            self.work("copy", t, t + length, stream, "bytes, kind", 4096, r.choice((1, 2)))
        else:
            end = self.call(at, "cudaStreamSynchronize_v3020")[0]
        return end

    def run(self, engine):
        r = self.r
        at = r.randint(0, 50000)
        for _ in range(r.randint(3, 40)):
            start = at
            for _ in range(r.randint(0, 5)):
                at = self.launch(at + r.randint(1000, 20000))
            at += r.randint(500, 20000)
            if r.random() < 0.85:
                self.range(start, at, step_name(r, engine))
            if r.random() < 0.15 and at - start > 2000:
                self.range(start + 500, r.choice((at - 500, at + r.randint(1000, 9000))),
                           step_name(r, engine))
            at += r.randint(0, 60000)

    def range(self, t0, t1, text):
        self.add("nvtx", "t0, t1, pid, tid, text", t0, t1, self.pid, self.tid, text)


def main():
    r = random.Random(int(sys.argv[1]))
    sql = ["-- @include _schema/v3_25.sql", "-- @lazy"]
    gpus = r.choice((1, 2))
    sql += [f"INSERT INTO gpu (id) VALUES ({i});" for i in range(gpus)]
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    for pid in range(first, first + r.choice((1, 1, 2, 3))):
        device = r.randrange(gpus)
        sql.append(f"INSERT INTO process (pid, name, device) VALUES ({pid}, 'worker', {device});")
        engine = r.choice(("vLLM", "SGLang", "TensorRT-LLM", "loop"))
        for i in range(r.choice((1, 1, 2))):
            Thread(r, sql, pid, 10 * pid + i, device, 7 + 3 * i).run(engine)
    print("\n".join(sql))


main()
