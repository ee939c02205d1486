"""calls.py BUILD_DIR WORK_DIR STEP - for suite/io_faults.sh, which says what
is tested."""
import concurrent.futures
import itertools
import os
import shutil
import subprocess
import sys
from case import Case, finish, read

BUILD, WORK, STEP = sys.argv[1], sys.argv[2], int(sys.argv[3])
PROGRAM, TRACE = BUILD + "/nsys-explain", BUILD + "/fixtures/synthetic.sqlite"
READS = ["pread64", "preadv2", "read", "openat", "newfstatat", "lseek"]
WRITES = ["write", "mkdir", "close", "chmod", "fchmod", "renameat2", "rename", "getdents64", "ftruncate"]
# If one of these calls fails, the file that it should remove may stay.
REMOVALS = ["unlink", "unlinkat", "rmdir"]


def calls(case):
    """{system call: (first, last)} by number, from the opening of the trace on."""
    where = case.start()
    subprocess.run(["strace", "-o", "log", "-e", "trace=file,desc"] + case.argv, cwd=where,
                   stdout=open(where + "/stdout", "wb"), check=True)
    count, first, begun = {}, {}, False
    for line in open(where + "/log", errors="replace"):
        name = line.split("(")[0]
        begun = begun or name == "openat" and ('"t.sqlite"' in line or "nsys" in line)
        count[name] = count.get(name, 0) + 1
        if begun:
            first.setdefault(name, count[name])
    shutil.rmtree(where)
    return {name: (at, count[name]) for name, at in first.items()}


def injections(case):
    numbers = calls(case)
    for name in READS + WRITES + REMOVALS:
        first, last = numbers.get(name, (1, 0))
        errors = {"write": ["ENOSPC"], "mkdir": ["ENOSPC"], "openat": ["EMFILE"],
                  "renameat2": ["EINVAL", "EIO"]}.get(name, ["EIO"])
        for n in range(first, last + 1, STEP if last - first > 8 else 1):
            for error in errors:
                yield case, name, error, n


def one(job):
    case, name, error, n = job
    inject = f"inject={name}:error={error}:when={n}"
    argv = ["strace", "-o", "/dev/null", "-e", f"trace={name}", "-e", inject] + case.argv
    return case.run(argv, inject, may_stay=name in REMOVALS)


class Capture(Case):
    """A run with a stand-in for nsys. The record of a failed capture may also stay."""

    def output(self, where):
        path = where + "/o/trace.sqlite"
        return read(path) if os.path.exists(path) else None

    def judge(self, where, code, errors, may_stay=False):
        hidden = [n for n in os.listdir(where + "/o") if n[0] == "."] if os.path.isdir(where + "/o") else []
        if not all(n in errors for n in hidden) and not may_stay:
            return f"exit {code}, left: {hidden}"
        got = self.output(where)
        if code == 0:
            return None if got == self.sound else "exit 0, but the trace differs"
        # nsys may have died because nobody could read its output any more.
        if (code != 3 or not errors) and f"ended with code {code}" not in errors:
            return f"exit {code}: {errors[:300]}"
        return None if got in (None, self.sound) else f"exit {code}, and half a trace"


def main():
    explain = [PROGRAM, "t.sqlite", "--threads", "1"]
    cases = [Case(WORK, TRACE, *c) for c in (
        ("report", explain + ["-q", "--out", "o"], "o"),
        ("report over another", explain + ["--out", "o"], "o", True),
        ("report beside files", explain + ["-q", "--out", "o"], "o", "mixed"),
        ("json", explain + ["--json"], "stdout"),
        ("convert", [PROGRAM, "convert", "t.sqlite", "-o", "c.json", "-q"], "c.json", True),
        ("convert to gz", [PROGRAM, "convert", "t.sqlite", "-o", "c.json.gz"], "c.json.gz"))]
    os.environ["FAKE_SQLITE"] = TRACE
    fake = os.path.dirname(os.path.abspath(__file__)) + "/../capture/fake-nsys.sh"
    cases.append(Capture(WORK, TRACE, "capture", [PROGRAM, "capture", "--nsys", fake, "-o", "o", "--no-explain",
                                                  "--", "true"], "o"))
    jobs = list(itertools.chain(*map(injections, cases)))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return finish("io_faults", list(pool.map(one, jobs)))


sys.exit(main())
