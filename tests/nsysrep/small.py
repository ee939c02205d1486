#!/usr/bin/env python3
"""Writes small reports of nsys, sound and damaged, into the working folder.

src/nsysrep/README.md describes the layout. LZ4 blocks have literals only, which needs no library.
One process (globalPid 0x1000001000000, thread 0x1000001000001) launches one kernel, copies
once, has an NVTX range and two events of an unknown type. It is rank 3 of an MPI job and makes
two communicators, one with rank 1 as root and one without a root.
"""
import struct

PID, TID = 0x1000001000000, 0x1000001000001


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def msg(*fields):
    """Fields (number, int or bytes) of a message."""
    out = b""
    for f, v in fields:
        if isinstance(v, bytes):
            out += varint(f << 3 | 2) + varint(len(v)) + v
        else:
            out += varint(f << 3) + varint(v)
    return out


def block(message):
    plain = varint(len(message)) + message
    n = len(plain)
    head = bytes([min(n, 15) << 4])
    if n >= 15:
        head += b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])
    packed = head + plain
    return varint(len(packed)) + varint(n) + packed


STRINGS = [b"", b"void scale<float>(float*)", b"scale", b"cudaLaunchKernel", b"cudaMemcpyAsync", b"main", b"GpuMetrics"]
gpu = [(4, 0), (5, 1), (6, 7), (8, PID)]
kernel = msg((1, 1), (2, 2), (10, 4), (11, 1), (12, 1), (13, 128), (14, 1), (15, 1), (20, 9), (21, 32))
EVENTS = [
    msg((1, 48), (108, msg((1, 1000), (2, 1500), (3, 11), (6, 0), (7, 3), (8, 0), (13, TID)))),
    msg((1, 48), (108, msg((1, 2000), (2, 2400), (3, 12), (6, 0), (7, 4), (8, 0), (13, TID)))),
    msg((1, 79), (107, msg((1, 3000), (2, 7000), (3, 11), (7, 3), (101, kernel), *gpu))),
    msg((1, 80), (107, msg((1, 8000), (2, 9000), (3, 12), (7, 1), (102, msg((1, 4096), (2, 1), (4, 0), (5, 2))), *gpu))),
    msg((1, 59), (102, msg((1, 59), (2, -5), (7, b"step"), (9, TID), (10, 9500)))),
    msg((1, 27), (113, msg((1, 0), (2, PID), (6, b"app")))),
    msg((1, 27), (113, msg((1, 0), (2, PID), (6, b"app")))),
    msg((1, 131), (150, b"\x08\x01")),
    msg((1, 131), (150, b"\x08\x02")),
    msg((1, 117), (107, msg((1, 5), (7, 9)))),
    msg((1, 39), (102, msg((1, 39), (2, 0), (7, b"MPI Rank 3"), (9, TID)))),
]


def communicator(at, values):
    """A payload without an event, with numbers of 8 bytes, of schema 900."""
    return (3, msg((1, at), (2, 1), (3, 900), (4, struct.pack("<%dq" % len(values), *values))))


NAMES = (b"NewComm", b"ParentComm", b"LocalRank", b"Size", b"GroupRootGlobalRank", b"GroupRootUniqueId")
TEAM = msg((1, 900), (2, 1), (6, 8 * len(NAMES)),
           *[(4, msg((1, 17), (3, 8 * i), (7, name))) for i, name in enumerate(NAMES)])
SCHEMAS = (b"".join(msg((2, msg((1, 8), (2, 8)))) for _ in range(18)) +
           msg((3, msg((1, PID), (2, TEAM), communicator(70, (500, 400, 0, 2, 1, 7)),
                       communicator(80, (600, 500, 1, 2, -1, 7))))))


# The messages of a report besides its events.
BESIDE = {
    "header": msg((13, msg((1, 1 << 48), (3, 6)))),
    "first": msg((1, msg((1, b"Local (CLI)"), (3, 1))), (17, 50), (18, 20050)),
    "strings": b"".join(msg((1, s)) for s in STRINGS),
    "threads": msg((1, msg((2, 5), (3, 20), (4, TID)))),
    "machine": msg((1, msg((1, 1), (2, msg((7, msg((1, 0), (2, b"Test GPU"), (14, 80))))))),
                   (15, msg((1, 7), (2, 0), (3, 1), (4, 1), (5, 1))),
                   (23, msg((1, b"CPU Clock (sw)"), (2, b"a timer"), (3, b"clock"), (4, 8192), (5, 0)))),
    "schemas": SCHEMAS,
    "ui": msg((6, b"2026.2.1.5-abc")), "options": b"",
    "clocks": msg((2, msg((1, b"")))),
}


def report(blocks, nevents, nstrings=len(STRINGS), cut=0, **beside):
    """beside: messages in place of those of BESIDE; cut: how much shorter the last section is than the directory says."""
    m = dict(BESIDE, **beside)
    header = msg((1, nevents), (3, nstrings), (5, 1), (9, b"lz4"), (17, 1)) + m["header"]
    raw = b"QDTEXT00" + varint(len(m["first"])) + m["first"] + varint(len(header)) + header + blocks
    end = len(raw) - 8
    raw += block(m["strings"]) + b"".join(varint(len(m[k])) + m[k] for k in ("threads", "machine")) + block(m["schemas"])
    out, places = b"NVIDIA Tegra Profiler Report 1.\n", []
    for name, data in ((b"Raw Sampling Data", raw), (b"Sampling Data Offsets", msg((1, b"lz4"), (2, end))),
                       (b"Analysis Options Data", m["options"]), (b"Time Conversion Data", m["clocks"]),
                       (b"UI Data", m["ui"])):
        places.append((1, msg((1, name), (2, len(out)), (3, len(data) + (cut if name == b"UI Data" else 0)))))
        out += data
    return out + msg(*places) + struct.pack("<Q", len(out)) + b"U3w[END]"


BAD = b"\x07"  # no field begins with it


def within(*path):
    """A message that is garbled in the message that these fields lead to."""
    return msg((path[0], within(*path[1:]))) if path else BAD


# The messages of each part that are read: the fields that lead to them.
READ = {
    "header": [(13,), (14,)],
    "first": [(), (1,), (1, 2), (1, 2, 1), (16,), (16, 1)],
    "strings": [(), (2,)],
    "threads": [(), (1,)],
    "machine": [(), (1,), (1, 2), (1, 2, 7), (1, 2, 9), (13,), (14,), (15,), (23,)],
    "schemas": [(), (2,), (3,), (3, 2), (3, 2, 4), (3, 3), (3, 4)],
    "ui": [()],
    "options": [(), (2,), (12,), (26,), (26, 30), (26, 49), (69,), (92,), (92, 9)],
    "clocks": [(), (1,), (1, 1), (2,), (2, 1)],
}


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


one = block(b"".join(msg((1, e)) for e in EVENTS))
sound = report(one, len(EVENTS))
write("sound.nsys-rep", sound)
write("line_end.nsys-rep", sound + b"\n")
# Samples are counted on from block to block.
samples = [msg((1, 31), (104, msg((1, at), (3, 2), (4, msg((1, 1))), (11, TID)))) for at in (100, 200, 300)]
write("samples.nsys-rep", report(block(b"".join(msg((1, e)) for e in samples[:2])) + block(msg((1, samples[2]))), 3))
write("newer.nsys-rep", report(one, len(EVENTS), ui=msg((6, b"2031.1.1.1-z"))))
write("twice.nsys-rep", report(one + one, len(EVENTS)))
write("endless.nsys-rep", report(one, len(EVENTS), strings=BESIDE["strings"] + b"\x0a\0" * 100))
write("zeros.nsys-rep", report(one + block(b"\0" * 100), len(EVENTS)))
write("nameless.nsys-rep", report(one, len(EVENTS), nstrings=len(STRINGS) + 3))
counter = (3, msg((1, 1), (2, 0), (3, 8)))
write("garbled_counters.nsys-rep", report(one, len(EVENTS), header=BESIDE["header"] + msg(
    (14, msg((1, 1 << 48), counter, counter)))))


def nvtx(kind, at, *fields, schema=None, data=b""):
    """An event of NVTX that ends 10 ns later."""
    payload = ((8, msg((9, msg((1, schema), (2, data))))),) if schema else ()
    return msg((1, kind), (102, msg((1, kind), (2, at), (9, TID), (10, at + 10), *fields, *payload)))


# Entries of a made-up schema all lie at the same 8 bytes.
everywhere = msg((1, 901), (2, 1), (6, 16), *[(4, msg((1, 17), (3, 8), (7, b"n"))) for _ in range(2000)])
step = nvtx(59, 5, (7, b"step"), schema=901, data=b"12345678" * 2)
write("everywhere.nsys-rep", report(block(b"".join(msg((1, e)) for e in EVENTS + [step])), len(EVENTS) + 1,
                                    schemas=SCHEMAS + msg((3, msg((1, PID), (2, everywhere))))))
write("no_directory.nsys-rep", sound[:-100])
write("sections.nsys-rep", report(one, len(EVENTS), cut=9999))
for part, paths in READ.items():
    for path in paths:
        write("garbled_%s%s.nsys-rep" % (part, "".join("_%d" % n for n in path)),
              report(one, len(EVENTS), **{part: BESIDE[part] + within(*path)}))
write("cut.nsys-rep", sound[:sound.index(b"QDTEXT00") + sound[sound.index(b"QDTEXT00"):].index(one) + len(one)])
# The first of two blocks is garbled: it copies from before its own start.
bad = varint(4) + varint(40) + b"\x0f\xff\xff\x10"
write("block.nsys-rep", report(bad + block(b"".join(msg((1, e)) for e in EVENTS[:5])), len(EVENTS)))
write("lying.nsys-rep", report(varint(5) + varint(1 << 40) + b"abcde", 1))
write("other.nsys-rep", b"no report of nsys at all\n" * 20)
for i in range(0, len(sound), 7):
    write("part_%04d.nsys-rep" % i, sound[:i])
for i in range(0, len(sound), 3):
    write("flip_%04d.nsys-rep" % i, sound[:i] + bytes([sound[i] ^ 0x55]) + sound[i + 1:])

# Calls of MPI, UCX and OpenMP. The first exchange has different ranks, the second one has no rank to receive from, and the
# third one has the same rank for both. The wait for any of two requests ended with the second.
EXCHANGE = [(18, 0, b"Communicator", 1), (15, 8, b"Receive tag", 7), (15, 12, b"Source", 9), (15, 16, b"Send tag", 6),
            (15, 20, b"Destination", 10), (18, 24, b"Bytes sent", 23), (18, 32, b"Bytes received", 24)]
SEND = [(18, 0, b"Communicator", 1), (15, 8, b"Tag", 5), (15, 12, b"Destination", 10), (18, 16, b"Bytes sent", 23)]
ANY = [(16, 0, b"No. of requests", 43), (18, 8, b"Completed request", 0)]
REQUESTS = (4, msg((1, 18), (2, 48), (3, 16), (7, b"Requests"), (9, 48)))
WINDOW = [(18, 0, b"Communicator", 1), (18, 8, b"Window", 2)]
TRANSFER = [(18, 0, b"Remote worker", 8), (18, 0, b"Tag", 5), (23, 0, b"Buffer address", 30)]


def structure(number, entries, *more, kind=1):
    return (2, msg((1, number), (2, kind), *[(4, msg((1, t), (3, at), (7, name), (9, m))) for t, at, name, m in entries], *more))


def entry(kind, name, flags=0, length=0, at=0):
    return (4, msg((1, kind), (2, flags), (3, at), (4, length), (7, name)))


# Entries without an offset follow the one before, aligned: a byte, a number at 8, a list that ends with 0, text.
AFTER = [entry(12, b"a"), entry(18, b"b"), entry(13, b"c", flags=32), entry(75, b"d"), entry(906, b"e", flags=16 | 512, length=2),
         entry(1, b"f", flags=16, length=4), entry(15, b"g", flags=2)]
COLOURS = (4, msg((2, 906), (4, msg((1, b"red"), (2, 1))), (4, msg((1, b"none"), (2, -1))), (5, 2)))
SIZES = b"".join(msg((2, msg((1, n), (2, n)))) for n in (1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8))
schemas = SIZES + msg((3, msg((1, PID), structure(910, EXCHANGE), structure(911, SEND),
                              structure(912, ANY, REQUESTS, kind=2), structure(913, WINDOW),
                              structure(914, TRANSFER), structure(915, [], *AFTER), COLOURS,
                              (3, msg((1, 7), (2, 2), (3, 914), (4, b"\x10\0\0\0\x02\x01\x01\0" + struct.pack("<q", -9)))))))


def exchange(at, *values, name=1):
    return nvtx(59, at, (12, name), (13, 1), schema=910, data=struct.pack("<QiiiiQQ", *values))


def openmp(at, kind, field, *values):
    return msg((1, 48), (108, msg((1, at), (2, at + 5), (6, 78), (7, 3), (13, TID), (
        34, msg((1, kind), (field, msg(*enumerate(values, 1))))))))


calls = [nvtx(75, 0, (7, b"MPI"), (13, 1)), nvtx(75, 0, (7, b"UCX"), (13, 2)),
         exchange(100, 50, 5, 2, 6, 1, 40, 80), exchange(200, 50, 6, 1, 6, 1, 40, 80),
         nvtx(59, 300, (12, 1), (13, 1), schema=911, data=struct.pack("<QiiQ", 50, 7, 1, 40)),
         nvtx(59, 400, (12, 2), (13, 1), schema=911, data=struct.pack("<QiiQ", 50, -1, -1, 40)),
         nvtx(59, 500, (12, 3), (13, 1), schema=912, data=struct.pack("<QQQQ", 2, 77, 66, 77)),
         nvtx(59, 600, (12, 4), (13, 1), schema=913, data=struct.pack("<QQ", 50, 99)),
         nvtx(59, 700, (12, 5), (13, 2)), nvtx(59, 800, (12, 5), (13, 2), schema=914, data=struct.pack("<QQQ", 8, 9, 10)),
         nvtx(60, 900, (12, 5), (13, 2), schema=914, data=struct.pack("<QQQ", 8, 9, 10)),
         openmp(1000, 28, 3, 2, 1), openmp(1100, 36, 17, 1, 2, 3, 2000), openmp(1200, 99, 3, 1),
         msg((1, 128), (128, msg((1, -5), (2, 5), (3, 1), (4, 0), (5, 8192), (6, 42)))),
         nvtx(59, 1300, (7, b"payload"), schema=915, data=b"\1" + b"\0" * 7 + b"\2" + b"\0" * 7 + struct.pack("<hhh", 3, -4, 0) +
              b"say\"\0\0" + struct.pack("<Hh", 1, -1) + b"xyz" + b"\0" * 5 + struct.pack("<Q", 5))]
# A graph of two kernels, traced node by node: where their graphNodeId stands is not known. One call has its stack in an event
# of its own.
launch = [msg((1, 48), (108, msg((1, 1000), (2, 1500), (3, 11), (6, 0), (7, 3), (13, TID)))),
          msg((1, 48), (108, msg((1, 1000), (2, 1500), (3, 11), (6, 67), (7, 3), (13, TID), (15, msg((1, 1)))))),
          *[msg((1, 79), (107, msg((1, at), (2, at + 2000), (3, 11), (7, 3), (101, kernel), *gpu))) for at in (3000, 4000)],
          msg((1, 113), (108, msg((1, 900), (2, 900), (6, 77), (13, TID))))]
write("graph.nsys-rep", report(block(b"".join(msg((1, e)) for e in launch)), len(launch), nstrings=4, strings=b"".join(
    msg((1, x)) for x in (b"", b"scale", b"scale", b"cudaGraphLaunch"))))
write("calls.nsys-rep", report(block(b"".join(msg((1, e)) for e in calls)), len(calls), schemas=schemas,
                               strings=b"".join(msg((1, x)) for x in (b"", b"MPI_Sendrecv", b"MPI_Irecv", b"MPI_Waitany",
                                                                      b"MPI_Win_create", b"ucp_put_nbi")), nstrings=6))
