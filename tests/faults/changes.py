"""changes.py BUILD_DIR WORK_DIR ROUNDS - for suite/changes.sh, which says what
is tested."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from case import finish, read, report

BUILD, WORK, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
PROGRAM = BUILD + "/nsys-explain"
BIG, OTHER = WORK + "/big.sqlite", WORK + "/other.sqlite"
rng = random.Random(3)


def cut(path):
    os.truncate(path, rng.randrange(os.path.getsize(path)))


def empty(path):
    os.truncate(path, 0)


def replace(path):
    shutil.copy(OTHER, "new")
    os.rename("new", path)


def write_over(path):
    """Replaces the trace by another, or overwrites a part of it with zeros."""
    with open(path, "r+b") as f:
        if rng.random() < 0.5:
            f.write(read(OTHER))
        else:
            f.seek(rng.randrange(os.path.getsize(path)))
            f.write(bytes(rng.randrange(1 << 20)))


def delete(path):
    os.unlink(path)


def spoil_folder(path):
    """Removes the output folder, finished or not."""
    del path
    for name in os.listdir("."):
        if name.startswith(("o", ".nsys-explain-")):
            shutil.rmtree(name, ignore_errors=True)


def start(out="o"):
    return subprocess.Popen([PROGRAM, "t.sqlite", "--threads", "2", "--out", out, "-q"], stderr=subprocess.PIPE)


def pause(p, normal, is_writing):
    """Stops a run at a random moment, perhaps after its end."""
    if is_writing:
        while p.poll() is None and not any(n.startswith(".nsys-explain-") for n in os.listdir(".")):
            pass
        time.sleep(rng.random() / 50)
    else:
        time.sleep(rng.random() * normal)
    p.send_signal(signal.SIGSTOP)
    # Waits until the process is stopped: the change must happen between two of its steps.
    while p.poll() is None and open(f"/proc/{p.pid}/stat").read().split()[2] not in "TZ":
        time.sleep(0.001)


def judge(p, sound, change):
    try:
        errors = p.communicate(timeout=60)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        p.kill()
        return "it hangs"
    code, got = p.returncode, report("o") if os.path.isdir("o") else None
    left = [n for n in os.listdir(".") if n.startswith(".nsys-explain-") or n == "new"]
    if left and change is not spoil_folder:
        return f"exit {code}, left: {left}"
    if code == 3:
        return None if len(errors.splitlines()) == 1 else f"exit 3: {errors[:300]}"
    if code not in (0, 4):
        return f"exit {code}: {errors[:300]}"
    if change is spoil_folder and got is None:
        return None  # taken away after the end
    if got is None or "report.json" not in got:
        return f"exit {code}, but no report"
    if code == 4:
        return None if json.loads(read("o/report.json"))["warnings"] else "exit 4 without a warning"
    if got == sound:
        return None
    start("again").wait()  # of the file as it is now
    now = report("again") if os.path.isdir("again") else None
    return None if got == now else f"exit 0, but the report is of neither file: {errors[:300]}"


def round_of(change, normal, sound):
    os.mkdir("r")
    os.chdir("r")
    shutil.copy(BIG, "t.sqlite")
    p = start()
    pause(p, normal, change is spoil_folder)
    change("t.sqlite")
    p.send_signal(signal.SIGCONT)
    why = judge(p, sound, change)
    code = p.returncode
    os.chdir("..")
    shutil.rmtree("r")
    return code, f"FAIL {change.__name__}: {why}" if why else None


def converted(change, normal):
    """A conversion names the change, and not the statement that failed because of it."""
    shutil.copy(BIG, "t.sqlite")
    p = subprocess.Popen([PROGRAM, "convert", "t.sqlite", "-o", "t.pftrace", "--force", "--quiet"],
                         stderr=subprocess.PIPE)
    pause(p, normal, False)
    change("t.sqlite")
    p.send_signal(signal.SIGCONT)
    errors = p.communicate(timeout=60)[1].decode("utf-8", "replace")
    told = p.returncode == 0 or "is damaged or cut off; copy the file again" in errors or \
        "was changed while it was read" in errors or "cannot open" in errors
    if told and "SELECT" not in errors:
        return None
    return f"FAIL convert, {change.__name__}: exit {p.returncode}: {errors[:300]}"


def two_at_once(sound, old):
    """Two runs into one folder must leave one complete report and nothing else."""
    if old:
        shutil.copytree("sound", "o")
    runs = [start(), start()]
    if rng.random() < 0.5:
        time.sleep(rng.random() / 20)
    errors = [p.communicate(timeout=60)[1].decode() for p in runs]
    codes = [p.returncode for p in runs]
    got, left = report("o"), [n for n in os.listdir(".") if n.startswith(".nsys-explain-")]
    shutil.rmtree("o")
    for code, text in zip(codes, errors):
        if code not in (0, 3) or (code == 3 and len(text.splitlines()) != 1):
            return f"FAIL two runs: exit {code}: {text[:300]}"
    if 0 not in codes or got != sound or left:
        return f"FAIL two runs: exits {codes}, whole {got == sound}, left {left}: {errors}"
    return None


def main():
    os.chdir(WORK)
    shutil.copy(BIG, "t.sqlite")
    started = time.time()
    assert start("sound").wait() == 0
    normal = time.time() - started
    sound = report("sound")
    results, codes = [], {}
    changes = [cut, empty, replace, write_over, delete, spoil_folder]
    for i in range(ROUNDS):
        change = changes[i % len(changes)]
        code, why = round_of(change, normal, sound)
        codes.setdefault(change.__name__, {}).setdefault(code, 0)
        codes[change.__name__][code] += 1
        results.append(why)
    for name, n in codes.items():
        print(f"{name}: exit codes", dict(sorted(n.items())))
    results += [converted([cut, write_over][i % 2], normal) for i in range(ROUNDS // 5)]
    small = "t.sqlite"
    shutil.copy(BUILD + "/fixtures/synthetic.sqlite", small)
    shutil.rmtree("sound")
    assert start("sound").wait() == 0
    sound = report("sound")
    results += [two_at_once(sound, old=i % 2) for i in range(ROUNDS // 2)]
    return finish("changes", results)


sys.exit(main())
