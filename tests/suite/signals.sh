#!/bin/sh
# SIGINT and SIGTERM at random moments. Afterwards either the complete old report or the complete
# new one is there, and no other file. ROUNDS=1000 runs longer.
# usage: signals.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
f=$traces/rtx3070ti_training.sqlite; [ -f "$f" ] || f=$b/fixtures/fed_dense.sqlite
f=$(realpath "$f")
"$b/nsys-explain" "$f" --out whole -q || exit 1
python3 - "$b/nsys-explain" "$f" "${ROUNDS:-60}" <<'P'
import filecmp, os, random, shutil, signal, subprocess, sys, time
prog, trace, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(5)
began = time.time()
subprocess.run([prog, trace, "--out", "t", "-q"], check=True)
normal = time.time() - began
shutil.rmtree("t")
names = sorted(os.listdir("whole/tables"))
bad = killed = 0
for i in range(rounds):
    if i % 2 and not os.path.isdir("o"):
        shutil.copytree("whole", "o")  # an old report to be replaced
    p = subprocess.Popen([prog, trace, "--out", "o", "-q"], stderr=subprocess.DEVNULL)
    time.sleep(rng.random() * normal * 1.1)
    p.send_signal(rng.choice([signal.SIGINT, signal.SIGTERM]))
    code = p.wait(timeout=60)
    killed += code != 0
    left = sorted(os.listdir("."))
    whole = not os.path.isdir("o") or (sorted(os.listdir("o/tables")) == names and all(
        filecmp.cmp(f"o/tables/{n}", f"whole/tables/{n}", False) for n in names))
    if left not in (["whole"], ["o", "whole"]) or not whole or code not in (0, 3, -2, -15):
        bad += 1
        print(f"FAIL round {i}: exit {code}, left {left}, whole {whole}")
    shutil.rmtree("o", ignore_errors=True)
print(f"{killed} of {rounds} runs were ended early")
print(f"signals: {rounds - bad} passed, {bad} failed")
sys.exit(bad > 0)
P
