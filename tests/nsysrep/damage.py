#!/usr/bin/env python3
"""Damages a report file of nsys in one place after another, the same ones in every run.

usage: damage.py REPORT FOLDER [COUNT [SEED]]
Writes FOLDER/KIND-N.nsys-rep, COUNT of them (60) of these kinds, in turns:
  cut       the file ends early: a capture that was killed
  tail      the end mark and directory are gone
  flip      one bit of the whole file
  byte      one byte within the event blocks
  length    a length of an event block says more or less than there is, or 2^40
  message   the same within a block that is packed again: a field, or the message
  offset    the offset of the directory, or of a section, or where the events end
  first     the length of the first message or of the header
"""
import ctypes
import os
import random
import struct
import sys

lz4 = ctypes.CDLL("liblz4.so.1")


def varint(b, i):
    value = shift = 0
    while True:
        c = b[i]
        i += 1
        value |= (c & 127) << shift
        if c < 128:
            return value, i
        shift += 7


def coded(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def unpack(packed, size):
    out = ctypes.create_string_buffer(size)
    if lz4.LZ4_decompress_safe(packed, out, len(packed), size) != size:
        raise ValueError("a block does not decode")
    return out.raw


def pack(plain):
    out = ctypes.create_string_buffer(lz4.LZ4_compressBound(len(plain)))
    n = lz4.LZ4_compress_default(bytes(plain), out, len(plain), len(out))
    return out.raw[:n]


class Report:
    """Finds the lengths in the file. self.blocks is (offset of the packed size, offset of the size, offset
    of the bytes, packed size, size); self.lengths has the lengths of the first messages."""

    def __init__(self, data):
        self.data = data
        raw = data.index(b"QDTEXT00")
        i, self.lengths, self.blocks = raw + 8, [], []
        for _ in range(2):
            self.lengths.append(i)
            n, i = varint(data, i)
            i += n
        at = data.index(b"\x0a\x03lz4\x10", i)  # section 'Sampling Data Offsets'
        self.end_at = at + 6
        end, _ = varint(data, self.end_at)
        while i < raw + 8 + end:
            first = i
            packed, second = varint(data, first)
            size, i = varint(data, second)
            self.blocks.append((first, second, i, packed, size))
            i += packed


def lie(r, n):
    return r.choice([0, 1, max(n - 1, 0), n + 1, 2 * n, n + 127, 1 << 31, 1 << 40, (1 << 64) - 1])


def replaced(data, at, number):
    _, end = varint(data, at)
    return data[:at] + coded(number) + data[end:]


def damaged(kind, report, r):
    data, block = report.data, r.choice(report.blocks)
    first, second, at, packed, size = block
    if kind == "cut":
        return data[:r.randrange(len(data))]
    if kind == "tail":
        return data[:-r.choice([8, 16, 17, 64])]
    if kind == "flip":
        i = r.randrange(len(data))
        return data[:i] + bytes([data[i] ^ 1 << r.randrange(8)]) + data[i + 1:]
    if kind == "byte":
        i = at + r.randrange(packed)
        return data[:i] + bytes([r.randrange(256)]) + data[i + 1:]
    if kind == "length":
        where, n = r.choice([(first, packed), (second, size)])
        return replaced(data, where, lie(r, n))
    if kind == "message":
        plain = bytearray(unpack(data[at:at + packed], size))
        i = r.choice([0, r.randrange(len(plain))])
        plain[i] = r.choice([0, 127, 128, 255, r.randrange(256)])
        again = pack(plain)
        # The sections behind it are moved, because the test is of the block and not of the directory.
        return data[:first] + coded(len(again)) + coded(size) + again + data[at + packed:]
    if kind == "offset":
        if r.random() < 0.5:
            n, _ = varint(data, report.end_at)
            return replaced(data, report.end_at, lie(r, n))
        n = struct.unpack("<Q", data[-16:-8])[0]
        return data[:-16] + struct.pack("<Q", lie(r, n) & (1 << 64) - 1) + data[-8:]
    where = r.choice(report.lengths)
    return replaced(data, where, lie(r, varint(data, where)[0]))


def main():
    path, folder = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    r = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    with open(path, "rb") as f:
        report = Report(f.read())
    kinds = ["cut", "tail", "flip", "byte", "length", "message", "offset", "first"]
    for i in range(count):
        kind = kinds[i % len(kinds)]
        with open(os.path.join(folder, "%s-%d.nsys-rep" % (kind, i)), "wb") as f:
            f.write(damaged(kind, report, r))


if __name__ == "__main__":
    main()
