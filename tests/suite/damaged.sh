#!/bin/sh
# Damages one page of each table in turn. The program says so in the report and on stderr, and exits
# with 4. So does every answer, digest, fleet, comparison and conversion, and all of them still give
# a result. That a file was cut is the first thing that the report says.
# usage: damaged.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
python3 -B - "$prog" "$fix" <<'P'
import glob, json, os, re, shutil, sqlite3, subprocess, sys
prog, fixtures = sys.argv[1:]
os.environ['SOURCE_DATE_EPOCH'] = '1'
passed = failed = 0


def ok(what, holds, seen=''):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print('FAIL damaged: %s: %s' % (what, seen))


def run(*command):
    r = subprocess.run([prog, *command], capture_output=True, text=True)
    return r.returncode, r.stderr.strip(), r.stdout


smallest = {}
for f in sorted(glob.glob(fixtures + '/*.sqlite'), key=os.path.getsize):
    try:
        db = sqlite3.connect('file:%s?mode=ro&immutable=1' % f, uri=True)
        for name, page in db.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table' AND rootpage > 1"):
            if name not in smallest and db.execute('SELECT 1 FROM "%s" LIMIT 1' % name).fetchone():
                smallest[name] = f, page, db.execute('PRAGMA page_size').fetchone()[0]
    except sqlite3.Error:
        pass
run('baseline', 'set', 'x', fixtures + '/synthetic.sqlite')
PART = 'this is of a part: '
sound = {}
told = 0
for table, (f, page, size) in sorted(smallest.items()):
    with open(f, 'rb') as x:
        data = bytearray(x.read())
    data[(page - 1) * size:page * size] = b'\xff' * size
    with open('x.sqlite', 'wb') as x:
        x.write(data)
    code, error, out = run('x.sqlite', '--json')
    ok(table + ': a report', code in (0, 4), (code, error))
    is_told = code == 4
    told += is_told
    ok(table + ': why the code is 4', not is_told or error.startswith('nsys-explain: ' + PART) and '\n' not in error, error)
    ok(table + ': the first warning', not is_told or json.loads(out)['warnings'][0] in error or 'section' in json.loads(out)['warnings'][0],
       out[:300])
    for command in (['ask', 'x.sqlite', 'findings'], ['ask', 'x.sqlite', 'gaps'], ['digest', 'x.sqlite', '-q', '-o', 'x.nsxd'], ['fleet', 'x.sqlite', '-q', '-o', 'x'],
                    ['diff', f, 'x.sqlite'], ['ask', 'x.sqlite', 'sql', 'SELECT 1'], ['x.sqlite', '--brief', '--sqlite-library'],
                    ['baseline', 'accept', 'x', 'x.sqlite'], ['convert', 'x.sqlite', '-q', '-o', 'x.pftrace'], ['convert', 'x.sqlite', '-q', '-o', 'x.json']):
        what, key = table + ': ' + ' '.join(command[:3:2]), (f, *command)
        if key not in sound:
            sound[key] = run(*[f if c == 'x.sqlite' else c for c in command])[0]
        code, error, out = run(*command)
        ok(what, code == (4 if is_told else sound[key]) or (code == sound[key] and code > 1) or code == 3 and 'damaged' in error,
           (code, sound[key], error))
        ok(what + ' says it', not is_told or code != 4 or command[0] == 'fleet' or 'damage' in error or 'section' in error, error)
        ok(what + ' tells no SQL', 'SELECT' not in error, error)
        if is_told and command[0] == 'ask' and code != 3:
            ok(what + ' says it', code == 4 and error.startswith('nsys-explain: ' + PART) and 'covers the readable part' in out, (error, out[-400:]))
ok('tables whose damage is told', told > 40, told)
# If one page of many is damaged, the others are read. Threads change nothing; all outputs have the same rows.
shutil.copy(os.path.join(fixtures, 'synthetic.sqlite'), 'many.sqlite')
os.chmod('many.sqlite', 0o644)
db = sqlite3.connect('many.sqlite')
KERNELS = 'CUPTI_ACTIVITY_KIND_KERNEL'
columns = ', '.join('"%s"' % r[1] + (' + n * 1000000' if r[1] in ('start', 'end') else '')
                    for r in db.execute('PRAGMA table_info(%s)' % KERNELS))
db.execute('INSERT INTO %s WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 20000) '
           'SELECT %s FROM i, (SELECT * FROM %s LIMIT 1)' % (KERNELS, columns, KERNELS))
db.commit()
size, = db.execute('PRAGMA page_size').fetchone()
page, = db.execute('SELECT rootpage FROM sqlite_master WHERE name = ?', (KERNELS,)).fetchone()
db.close()
with open('many.sqlite', 'r+b') as x:
    x.seek((page - 1) * size)
    root = x.read(size)
    cell = int.from_bytes(root[22:24], 'big') # the sixth child of the root
    x.seek((int.from_bytes(root[cell:cell + 4], 'big') - 1) * size)
    x.write(b'\xff' * size)
reports = []
for threads in '1', '4':
    code, error, out = run('many.sqlite', '--json', '-q', '--threads', threads)
    ok('a damaged page with %s threads' % threads, code == 4 and 'page' in error, (code, error))
    reports.append(out)
ok('a damaged page with any number of threads', len(set(reports)) == 1, [len(r) for r in reports])
kernels = re.search(r'"name": "computeKernel",\s+"total_ms": [0-9.]+,\s+"count": ([0-9]+)', reports[0])
ok('the rows beside a damaged page', kernels and int(kernels[1]) > 19000, kernels)
for command in (['fleet', 'many.sqlite', '-q'], ['diff', os.path.join(fixtures, 'synthetic.sqlite'), 'many.sqlite', '-q']):
    code, error, out = run(*command)
    ok(command[0] + ' of a part with -q', code == 4 and PART in error and '\n' not in error, (code, error))
f = os.path.join(fixtures, 'synthetic.sqlite')
with open(f, 'rb') as x:
    data = x.read()
with open('cut.sqlite', 'wb') as x:
    x.write(data[:len(data) * 2 // 3])
code, error, out = run('cut.sqlite', '--out', 'o')
ok('a cut file is said on stderr', code == 4 and 'the file is cut' in error and '\n' not in error, error)
ok('a cut file leads the page', 'the file is cut' in ' '.join(out.split('\n')[:6]), out)
with open('o/report.json') as x:
    ok('a cut file is the first warning', 'the file is cut' in json.load(x)['warnings'][0])
code, error, out = run('cut.sqlite', '--out', 'o', '-q')
ok('a cut file with -q', code == 4 and 'the file is cut' in error and not out, error)
print('damaged: %d passed, %d failed' % (passed, failed))
sys.exit(failed > 0)
P
