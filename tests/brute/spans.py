"""Interval algebra and statistics, written to be obvious rather than fast.

A span list is a list of (start, end) pairs of integers, half open. A list
called a union is sorted, disjoint and holds no empty span.
"""

import bisect
import math


def union(spans):
    """The covered time as a sorted list of disjoint spans."""
    out = []
    for s, e in sorted(p for p in spans if p[1] > p[0]):
        if out and s <= out[-1][1]:
            if e > out[-1][1]:
                out[-1] = (out[-1][0], e)
        else:
            out.append((s, e))
    return out


def length(spans):
    return sum(e - s for s, e in spans)


def intersect(a, b):
    """The intersection of two unions."""
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        s, e = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if s < e:
            out.append((s, e))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def subtract(a, b):
    """Union a without union b."""
    out, j = [], 0
    for s, e in a:
        while j < len(b) and b[j][1] <= s:
            j += 1
        k = j
        while k < len(b) and b[k][0] < e:
            if b[k][0] > s:
                out.append((s, b[k][0]))
            s = max(s, b[k][1])
            k += 1
        if s < e:
            out.append((s, e))
    return out


def clip(spans, w):
    """The parts of a union inside the window w."""
    return intersect(spans, [w]) if w and w[1] > w[0] else []


class Cover:
    """A union that can be asked how much of it lies in [a, b)."""

    def __init__(self, spans):
        self.spans = union(spans)
        self.starts = [s for s, _ in self.spans]

    def inside(self, a, b):
        i = max(bisect.bisect_right(self.starts, a) - 1, 0)
        total = 0
        while i < len(self.spans) and self.spans[i][0] < b:
            total += max(0, min(self.spans[i][1], b) - max(self.spans[i][0], a))
            i += 1
        return total

    def near(self, a, b):
        """The spans that overlap [a, b), not cut to it."""
        i = max(bisect.bisect_right(self.starts, a) - 1, 0)
        out = []
        while i < len(self.spans) and self.spans[i][0] < b:
            if self.spans[i][1] > a:
                out.append(self.spans[i])
            i += 1
        return out


def percentile(values, q):
    """Linear interpolation at position (n-1)q; None if there are no values."""
    v = sorted(values)
    if not v:
        return None
    at = (len(v) - 1) * q
    lo = math.floor(at)
    hi = min(lo + 1, len(v) - 1)
    return v[lo] + (v[hi] - v[lo]) * (at - lo)


def sample_stddev(values):
    """The deviation over n-1, from exact integer sums; None for fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    spread = n * sum(v * v for v in values) - sum(values) ** 2
    return math.sqrt(spread / (n * (n - 1)))


def pct(part, whole):
    return None if not whole else 100.0 * part / whole


def ms(ns):
    return None if ns is None else ns / 1e6


def us(ns):
    return None if ns is None else ns / 1e3


def group_by(items, key):
    out = {}
    for item in items:
        out.setdefault(key(item), []).append(item)
    return out
