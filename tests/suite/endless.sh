#!/bin/sh
# Every request ends, even a SELECT whose single step would take for ever, a SELECT that takes all
# memory, and expressions that never match. A signal ends the program at any moment.
# usage: endless.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
python3 -B - "$prog" "$fix" "$tests/mcp" <<'P'
import os, re, resource, signal, subprocess, sys, time
prog, fixtures, client = sys.argv[1:]
sys.path.insert(0, client)
from client import Client, content_of
trace = os.path.join(fixtures, 'synthetic.sqlite')
passed = failed = 0
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it otherwise


def ok(what, holds, seen=''):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print('FAIL endless: %s: %s' % (what, seen))


A = "replace(replace(replace('%s', 'a', '%s'), 'a', '%s'), 'a', '%s')" % tuple('a' * n for n in (10, 100, 100, 40))
ONE_STEP = "SELECT instr(%s, substr(%s, 1, 2000000) || 'b')" % (A, A)
ROWS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
NESTED = 'WITH a0 AS (SELECT 1 AS x)' + ''.join(
    ', a%d AS (SELECT * FROM a%d UNION ALL SELECT * FROM a%d)' % (i + 1, i, i) for i in range(40))
SQL = [
    (ONE_STEP, 'took more than 5 s'),
    (ROWS + 'SELECT i FROM n ORDER BY i', 'took more than'),
    (ROWS + 'SELECT count(DISTINCT substr(%s, 1, 100000) || i) FROM n' % A, 'took more than'),
    (ROWS + "SELECT max(replace(%s, 'a', i)) FROM n" % A, 'too big|took more than'),
    ("SELECT %s LIKE '%s'" % (A, '%a' * 10000 + 'b'), ''),
    ("SELECT %s GLOB '%s'" % (A, '*a' * 10000 + 'b'), ''),
    (NESTED + ' SELECT count(*) FROM a40', 'took more than|too many'),
]


def ask(*question, kill=None):
    """Its error, and the seconds that it took."""
    began = time.time()
    p = subprocess.Popen([prog, 'ask', trace, *question], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if kill:
        time.sleep(0.7)
        p.send_signal(kill)
    try:
        error = p.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        error = 'never ended: ' + p.communicate()[1]
    return error.strip(), time.time() - began


slack = 20 * ask('verdict')[1]  # seconds; generous, because others may use the machine
for sql, says in SQL:
    error, s = ask('sql', sql)
    ok(sql[:90], s < 9 + slack and re.search(says, error), '%.1f s, %s' % (s, error[:200]))
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
ok('memory', most < 800000, '%d kB' % most)
for sig in (signal.SIGINT, signal.SIGTERM):
    error, s = ask('sql', ONE_STEP, kill=sig)
    ok('a signal ends a SELECT', s < 3 + slack and 'interrupted' in error, '%.1f s, %s' % (s, error))
for pattern in ('((.*)*)*\\2\\1x', '(a*)+\\1\\1\\1b'):
    error, s = ask('kernel', pattern)
    ok('a back-reference', s < 3 + slack and 'back-reference' in error, '%.1f s, %s' % (s, error))


def ended(c, within):
    """Whether the server ends by itself, and how fast."""
    began = time.time()
    try:
        c.p.wait(timeout=60)
    except subprocess.TimeoutExpired:
        c.p.kill()
    return c.p.wait() != -signal.SIGKILL and time.time() - began < within + slack


def server():
    c = Client(prog, [fixtures])
    c.call('nsys_ask', trace='synthetic.sqlite', question='findings')
    return c


c = server()
began = time.time()
r = c.call('nsys_sql', trace='synthetic.sqlite', sql=ONE_STEP)
ok('a SELECT by MCP', time.time() - began < 9 + slack and content_of(r)['error']['code'] == 'TOO_SLOW', r)
slow = {'name': 'nsys_sql', 'arguments': {'trace': 'synthetic.sqlite', 'sql': ONE_STEP}}
began = time.time()
c.tell('notifications/cancelled', {'requestId': c.post('tools/call', slow)})
r = c.call('nsys_sql', trace='synthetic.sqlite', sql='SELECT 1 AS one')
ok('one that is cancelled', time.time() - began < 3 + slack and not r.get('isError'), r)
c.post('tools/call', slow)
c.p.stdin.close()
ok('the end of input', ended(c, 9))
for sig in (signal.SIGINT, signal.SIGTERM):
    c = server()
    c.post('tools/call', slow)
    time.sleep(0.5)
    c.p.send_signal(sig)
    ok('a signal to a server at work', ended(c, 3))
    c = server()
    for i in range(100): # asks without ever reading the answers
        c.post('tools/list')
    time.sleep(0.5)
    c.p.send_signal(sig)
    ok('a signal to a server whose client does not read', ended(c, 3))
print('endless: %d passed, %d failed' % (passed, failed))
sys.exit(failed > 0)
P
