"""io.py BUILD_DIR WORK_DIR STEP - for suite/io_faults.sh, which says what is
asserted."""
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD, WORK, STEP = sys.argv[1], sys.argv[2], int(sys.argv[3])
PROGRAM = BUILD + "/nsys-explain"
READS = ["pread64", "preadv2", "read", "openat", "newfstatat", "lseek"]
WRITES = ["write", "mkdir", "close", "chmod", "fchmod", "renameat2", "rename", "getdents64", "ftruncate"]
# Where only these fail, what could not be removed may be left.
REMOVALS = ["unlink", "unlinkat", "rmdir"]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def report(folder):
    """What a report folder says, without the time."""
    ret = {}
    for base, _, names in os.walk(folder):
        for name in names:
            text = read(os.path.join(base, name))
            text = re.sub(rb'"generated_at": "[^"]*"|Generated at[^\n]*', b"", text)
            ret[os.path.relpath(os.path.join(base, name), folder)] = text
    return ret


class Case:
    """A command, run in a folder that holds t.sqlite and perhaps an old output."""

    def __init__(self, name, argv, out, old=False):
        self.name, self.argv, self.out, self.old = name, argv, out, old
        where = self.start()
        p = subprocess.run(argv, cwd=where, stdout=open(where + "/stdout", "wb"), stderr=subprocess.PIPE)
        assert p.returncode == 0, (name, p.stderr)
        self.sound = self.output(where)
        assert self.sound
        shutil.rmtree(where)

    def start(self):
        where = tempfile.mkdtemp(dir=WORK)
        shutil.copy(BUILD + "/fixtures/synthetic.sqlite", where + "/t.sqlite")
        if self.old and self.out == "o":
            os.makedirs(where + "/o/tables")
            for name in ("o/report.md", "o/tables/old.csv"):
                with open(f"{where}/{name}", "w") as f:
                    f.write("old")
        elif self.old:
            with open(f"{where}/{self.out}", "w") as f:
                f.write("old")
        return where

    def output(self, where):
        path = f"{where}/{self.out}"
        if not os.path.lexists(path):
            return None
        if os.path.isdir(path):
            return report(path)
        return re.sub(rb'"generated_at": "[^"]*"', b"", read(path))

    def is_old(self, got):
        if not self.old:
            return got is None
        return got == ({"report.md": b"old", "tables/old.csv": b"old"} if self.out == "o" else b"old")

    def warned(self, where, errors):
        if self.out.startswith("c."):  # convert says it on stderr
            return bool(errors)
        try:
            text = read(where + ("/o/report.json" if self.out == "o" else "/stdout"))
            return bool(json.loads(text)["warnings"])
        except (OSError, ValueError):
            return False

    def judge(self, where, code, errors, may_stay=False):
        """What is wrong, or None."""
        got = self.output(where)
        left = set(os.listdir(where)) - {"t.sqlite", "stdout", "log", self.out}
        if read(where + "/t.sqlite") != read(BUILD + "/fixtures/synthetic.sqlite"):
            return "the input is changed"
        if all(name in errors for name in left):
            left = None  # it is said
        if left and not may_stay:
            return f"exit {code}, left: {left}"
        if code == 0:
            return None if got == self.sound else "exit 0, but the output differs"
        if code == 4:
            return None if self.warned(where, errors) else "exit 4 without a warning"
        if code != 3 or len(errors.splitlines()) != 1:
            return f"exit {code}: {errors[:300]}"
        # What was written before the summary could not be printed is there.
        if self.out != "stdout" and not self.is_old(got) and got != self.sound:
            return "exit 3, but the output is neither old, new nor none"
        return None

    def run(self, argv, how, may_stay=False):
        where = self.start()
        try:
            p = subprocess.run(argv, cwd=where, stdout=open(where + "/stdout", "wb"), stderr=subprocess.PIPE, timeout=60)
            why = self.judge(where, p.returncode, p.stderr.decode("utf-8", "replace"), may_stay)
        except subprocess.TimeoutExpired:
            why = "it hangs"
        subprocess.run(["rm", "-rf", where], check=True)
        return f"FAIL {self.name}: {how}: {why}" if why else None

    def calls(self):
        """{system call: (first, last)} by number, from the opening of the trace on."""
        where = self.start()
        subprocess.run(["strace", "-o", "log", "-e", "trace=file,desc"] + self.argv, cwd=where,
                       stdout=open(where + "/stdout", "wb"), check=True)
        count, first, begun = {}, {}, False
        for line in open(where + "/log", errors="replace"):
            name = line.split("(")[0]
            begun = begun or '"t.sqlite"' in line and name == "openat"
            count[name] = count.get(name, 0) + 1
            if begun:
                first.setdefault(name, count[name])
        shutil.rmtree(where)
        return {name: (at, count[name]) for name, at in first.items()}


def injections(case):
    calls = case.calls()
    for name in READS + WRITES + REMOVALS:
        first, last = calls.get(name, (1, 0))
        for i, n in enumerate(range(first, last + 1)):
            if STEP > 1 and last - first > 8 and i % STEP:
                continue
            errors = {"write": ["ENOSPC"], "openat": ["EMFILE"], "renameat2": ["EINVAL", "EIO"],
                      "mkdir": ["ENOSPC"], "rename": ["EIO"]}.get(name, ["EIO"])
            for error in errors:
                yield case, name, f"error={error}", n


def one(job):
    case, name, what, n = job
    inject = f"inject={name}:{what}:when={n}"
    argv = ["strace", "-o", "/dev/null", "-e", f"trace={name}", "-e", inject] + case.argv
    return case.run(argv, inject, may_stay=name in REMOVALS)


def main():
    explain = [PROGRAM, "t.sqlite", "--threads", "1", "-q"]
    cases = [Case("report", explain + ["--out", "o"], "o"),
             Case("report over another", explain[:-1] + ["--out", "o"], "o", old=True),
             Case("json", explain + ["--json"], "stdout"),
             Case("convert", [PROGRAM, "convert", "t.sqlite", "-o", "c.json", "-q"], "c.json", old=True),
             Case("convert to gz", [PROGRAM, "convert", "t.sqlite", "-o", "c.json.gz"], "c.json.gz")]
    jobs = list(itertools.chain(*map(injections, cases)))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bad = [why for why in pool.map(one, jobs) if why]
    for why in bad:
        print(why)
    print(f"io_faults: {len(jobs) - len(bad)} passed, {len(bad)} failed")
    return bool(bad)


sys.exit(main())
