"""A run of the program that must end well, whatever fails during it. The input is unchanged. The
output is the complete old one, the complete new one, or none, and the exit code tells which. No
other file is left unless a message names it."""
import json
import os
import shutil
import subprocess
import tempfile

# With a fixed time, reports of the same trace are the same bytes.
os.environ["SOURCE_DATE_EPOCH"] = "1767225600"


def read(path):
    with open(path, "rb") as f:
        return f.read()


def report(folder):
    """The files of a report folder."""
    ret = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            ret[os.path.relpath(path, folder)] = read(path)
    return ret


OLD = b'{"otherData":{"producer":"nsys-explain 0"}}'  # an earlier conversion


class Case:
    """A command that is run in a folder with t.sqlite and perhaps an old output.

    old: whether there is an old output; "mixed": an old report beside the user's files.
    out: "o" for a report folder, "stdout", or "c.*" for a conversion."""

    def __init__(self, work, trace, name, argv, out, old=False):
        self.work, self.trace = work, trace
        self.name, self.argv, self.out, self.old = name, argv, out, old
        if old and out == "o":
            self.before = work + "/before-" + name.replace(" ", "-")
            subprocess.run([argv[0], trace, "-q", "--window", "0..0.003", "--out", self.before], check=True)
            if old == "mixed":
                for path in ("notes", "tables/mine.csv"):
                    with open(f"{self.before}/{path}", "w") as f:
                        f.write("mine")
        where = self.start()
        p = subprocess.run(argv, cwd=where, stdout=open(where + "/stdout", "wb"), stderr=subprocess.PIPE)
        assert p.returncode == 0, (name, p.stderr)
        self.sound = self.output(where)
        assert self.sound
        shutil.rmtree(where)

    def start(self):
        where = tempfile.mkdtemp(dir=self.work)
        shutil.copy(self.trace, where + "/t.sqlite")
        if self.old and self.out == "o":
            shutil.copytree(self.before, where + "/o")
        elif self.old:
            with open(f"{where}/{self.out}", "wb") as f:
                f.write(OLD)
        return where

    def output(self, where):
        path = f"{where}/{self.out}"
        if not os.path.lexists(path):
            return None
        if os.path.isdir(path):
            return report(path)
        return read(path)

    def is_old(self, got):
        if not self.old:
            return got is None
        return got == (report(self.before) if self.out == "o" else OLD)

    def warned(self, where, errors):
        if self.out.startswith("c."):  # convert prints its warning on stderr
            return bool(errors)
        try:
            text = read(where + ("/o/report.json" if self.out == "o" else "/stdout"))
            return bool(json.loads(text)["warnings"])
        except (OSError, ValueError):
            return False

    def judge(self, where, code, errors, may_stay=False):
        """A description of the error, or None."""
        got = self.output(where)
        left = set(os.listdir(where)) - {"t.sqlite", "stdout", "log", self.out}
        if read(where + "/t.sqlite") != read(self.trace):
            return "the input is changed"
        if all(name in errors for name in left):
            left = None  # a message names the file
        if left and not may_stay:
            return f"exit {code}, left: {left}"
        if code == 0:
            return None if got == self.sound else "exit 0, but the output differs"
        if code == 4:
            return None if self.warned(where, errors) else "exit 4 without a warning"
        if code != 3 or len(errors.splitlines()) != 1:
            return f"exit {code}: {errors[:300]}"
        # The summary may fail to print after the output was written.
        if self.out != "stdout" and not self.is_old(got) and got != self.sound:
            return "exit 3, but the output is neither old, new nor none"
        return None

    def run(self, argv, how, may_stay=False, limit=None):
        """Runs argv. Returns a description of the error, or None. limit: see Popen's preexec_fn."""
        where = self.start()
        try:
            p = subprocess.run(argv, cwd=where, stdout=open(where + "/stdout", "wb"), stderr=subprocess.PIPE,
                               timeout=60, preexec_fn=limit)
            why = self.judge(where, p.returncode, p.stderr.decode("utf-8", "replace"), may_stay)
        except subprocess.TimeoutExpired:
            why = "it hangs"
        subprocess.run(["rm", "-rf", where], check=True)
        return f"FAIL {self.name}: {how}: {why}" if why else None


def finish(suite, results):
    """Prints the failures and the sum; returns the exit code."""
    bad = [why for why in results if why]
    for why in bad:
        print(why)
    print(f"{suite}: {len(results) - len(bad)} passed, {len(bad)} failed")
    return bool(bad)
