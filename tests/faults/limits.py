"""limits.py BUILD_DIR WORK_DIR STEP - for suite/limits.sh, which says what
is tested."""
import concurrent.futures
import os
import resource
import shutil
import subprocess
import sys
from case import Case, finish

BUILD, WORK, STEP = sys.argv[1], sys.argv[2], int(sys.argv[3])
PROGRAM, TRACE = BUILD + "/nsys-explain", BUILD + "/fixtures/synthetic.sqlite"
MIB = 1 << 20


def limited(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def starts(what, value):
    """Whether the program reaches main(); before that the loader fails by itself."""
    return not subprocess.run([PROGRAM, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=limited(what, value)).returncode


def ladder(cases, what, name, values):
    def one(job):
        value, case = job
        return case.run(case.argv, f"{name} {value}", limit=limited(what, value))

    jobs = [(value, case) for value in values if starts(what, value) for case in cases]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, jobs))


def no_threads(cases):
    if subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode:
        return
    for case in cases:
        for n in range(1, 9):
            argv = ["strace", "-f", "-o", "/dev/null", "-e", "trace=clone3,clone"]
            for call in ("clone3", "clone"):
                argv += ["-e", f"inject={call}:error=EAGAIN:when={n}+"]
            yield case.run(argv + case.argv, f"no threads from the {n}th on")


def full_disk(cases, sizes):
    small = WORK + "/small"
    os.mkdir(small)
    for size in sizes:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", small],
                          stderr=subprocess.DEVNULL).returncode:
            print("no small disk can be mounted here")
            return
        for case in cases:
            yield case.run_on(small, f"a disk of {size} KiB")
        subprocess.run(["umount", small], check=True)


class OnDisk(Case):
    """Runs with the output on another disk than the input."""

    def run_on(self, disk, how):
        where = self.start()
        for name in os.listdir(disk):
            subprocess.run(["rm", "-rf", f"{disk}/{name}"], check=True)
        try:
            if self.old and self.out == "o":
                shutil.copytree(where + "/o", disk + "/o")
        except OSError:  # too small even for the old one
            return None
        argv = [a if a != self.out else f"{disk}/{self.out}" for a in self.argv]
        if self.out == "stdout":
            stdout = open(f"{disk}/stdout", "wb")
        else:
            stdout = subprocess.DEVNULL
        p = subprocess.run(argv, cwd=where, stdout=stdout, stderr=subprocess.PIPE, timeout=60)
        left = set(os.listdir(disk)) - {self.out}
        shutil.rmtree(where + "/" + self.out, ignore_errors=True)
        if os.path.isdir(f"{disk}/{self.out}"):
            shutil.copytree(f"{disk}/{self.out}", f"{where}/{self.out}")
        elif os.path.exists(f"{disk}/{self.out}"):
            shutil.copy(f"{disk}/{self.out}", where)
        why = self.judge(where, p.returncode, p.stderr.decode("utf-8", "replace"))
        why = why or (f"left: {left}" if left else None)
        shutil.rmtree(where)
        return f"FAIL {self.name}: {how}: {why}" if why else None


def main():
    explain = [PROGRAM, "t.sqlite", "--threads", "4"]
    kinds = [("report", explain + ["-q", "--out", "o"], "o"),
             ("report over another", explain + ["--out", "o"], "o", True),
             ("json", explain + ["--json"], "stdout"),
             ("convert", [PROGRAM, "convert", "t.sqlite", "-o", "c.json", "-q"], "c.json", True),
             ("convert to gz", [PROGRAM, "convert", "t.sqlite", "-o", "c.json.gz", "-q"], "c.json.gz")]
    cases = [Case(WORK, TRACE, *kind) for kind in kinds]
    big = [Case(WORK, BUILD + "/fixtures/fed_dense.sqlite", *kind) for kind in kinds[:1]]
    results = []
    results += ladder(cases, resource.RLIMIT_NOFILE, "descriptors", range(3, 24))
    results += ladder(cases, resource.RLIMIT_FSIZE, "file size", [0, 1, 100, 1000, 4096, 5000, 20000, 65536, 70000])
    results += ladder(cases + big, resource.RLIMIT_AS, "memory",
                      [n * MIB // 4 for n in range(20, 400, 2 * STEP)])
    results += no_threads(cases)
    results += full_disk([OnDisk(WORK, TRACE, *kind) for kind in kinds], range(4, 260, 8 * STEP))
    return finish("limits", results)


sys.exit(main())
