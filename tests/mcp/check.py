"""Tests `nsys-explain mcp` with our own client.
usage: check.py BUILD SHARED WORK [MUTATIONS]"""
import collections
import ctypes
import glob
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from client import (Client, LEGACY, META, MODERN, Schemas, content_of, jsonschema,
                    text_of)

build, shared, work = sys.argv[1:4]
mutations = int(sys.argv[4]) if len(sys.argv) > 4 else 10000
program = os.path.join(build, 'nsys-explain')
fixtures = os.path.join(build, 'fixtures')
traces = os.path.join(shared, 'traces')
schemas = Schemas(os.path.join(shared, 'mcp'))
counts = {'passed': 0, 'failed': 0, 'skipped': 0}


def ok(what, holds, detail=''):
    counts['passed' if holds else 'failed'] += 1
    if not holds:
        print('FAIL mcp: %s %s' % (what, str(detail)[:400]))


def skip(what):
    counts['skipped'] += 1
    print('skipped: ' + what)


def client(revision=MODERN, roots=(fixtures,), **k):
    return Client(program, roots, revision, schemas, **k)


CALLS = [
    ('nsys_explain', {'trace': 'synthetic.sqlite'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'findings'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'finding', 'argument': '1'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'gaps'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'window', 'argument': '0..1'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'at', 'argument': '1000000ns'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'why', 'argument': '1000000ns'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'kernel', 'argument': '.'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'section', 'argument': 'top_kernels'}),
    ('nsys_ask', {'trace': 'synthetic.sqlite', 'question': 'what-if', 'argument': 'host:2x'}),
    ('nsys_diff', {'before': ['diff_before.sqlite'], 'after': ['diff_slower.sqlite']}),
    ('nsys_fleet', {'traces': ['nccl_three_ranks.sqlite', 'two_rank_straggler.sqlite']}),
    ('nsys_sql', {'trace': 'synthetic.sqlite', 'sql': 'SELECT count(*) AS n FROM kernel'}),
    ('nsys_capture', {'trace': 'synthetic.sqlite'}),
    ('nsys_capture', {'preset': 'nvlink'}),
]


def check_revision(revision):
    c = client(revision)
    names = c.learn_tools()
    ok(revision + ': tools in order', names == [
        'nsys_explain', 'nsys_ask', 'nsys_diff', 'nsys_fleet', 'nsys_sql', 'nsys_capture'], names)
    unknown = {k for tool in c.tools.values() for k in tool} - {
        'name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', '_meta'}
    ok(revision + ': tools have keys of the protocol only', not unknown, unknown)
    if revision == MODERN:
        found = c.ask('server/discover')['result']
        ok('discover names the revision', MODERN in found['supportedVersions'])
        ok('no ping', c.ask('ping').get('error', {}).get('code') == -32601)
    else:
        ok(revision + ': agreed', c.hello['result']['protocolVersion'] == revision)
        ok(revision + ': ping', c.ask('ping')['result'] == {})
        ok(revision + ': no discover', c.ask('server/discover').get('error', {}).get('code') == -32601)
    for tool, arguments in CALLS:
        r = c.call(tool, **arguments)
        ok('%s %s %s' % (revision, tool, arguments), not r.get('isError') and text_of(r), r)
        ok(revision + ': an answer leads on', tool == 'nsys_fleet' or tool == 'nsys_capture' or
           content_of(r)['next'], r)
    listed = c.ask('resources/list')['result']['resources']
    ok(revision + ': resources of what is loaded', len(listed) >= 3 and listed[2]['uri'].endswith('/findings/1.md'), listed)
    for bad in ('findings/0.md', 'findings/99.md', 'findings/.md', 'findings/1x.md'):
        ok(revision + ': no ' + bad, 'error' in c.ask('resources/read', {
            'uri': listed[0]['uri'].rsplit('/', 1)[0] + '/' + bad}))
    for entry in listed[:3]:
        r = c.ask('resources/read', {'uri': entry['uri']})
        ok(revision + ': read ' + entry['name'], r['result']['contents'][0]['text'])
    table = listed[0]['uri'].rsplit('/', 1)[0] + '/tables/cuda_gpu_kern_sum.csv'
    ok(revision + ': a table', ',' in c.ask('resources/read', {'uri': table})['result']['contents'][0]['text'])
    gone = c.ask('resources/read', {'uri': 'nsys://0000000000000000/report.md'})
    ok(revision + ': unknown resource',
       gone['error']['code'] == (-32602 if revision == MODERN else -32002), gone)
    ok(revision + ': templates', len(c.ask('resources/templates/list')['result']['resourceTemplates']) == 4)
    prompts = c.ask('prompts/list')['result']['prompts']
    ok(revision + ': prompts', [p['name'] for p in prompts] == ['why-slow', 'what-changed', 'who-is-late'])
    for p in prompts:
        r = c.ask('prompts/get', {'name': p['name'],
                                  'arguments': {a['name']: 'x.sqlite' for a in p['arguments']}})
        ok(revision + ': ' + p['name'], 'x.sqlite' in r['result']['messages'][0]['content']['text'])
    code, rest = c.close()
    ok(revision + ': ends in silence', code == 0 and not rest and not c.noise, (code, rest, c.noise))


def check_batches():
    """Only revision 2025-03-26 has batches, and a server must accept them."""
    ping, call = ({'jsonrpc': '2.0', 'id': i, 'method': m, 'params': p} for i, m, p in (
        ('p', 'ping', {}), ('c', 'tools/call', {'name': 'nsys_explain', 'arguments': {'trace': 'synthetic.sqlite'}})))
    done = {'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'nothing'}}
    c = client('2025-03-26')
    c.schemas = None  # the id of what is no request is null in JSON-RPC, which the schema has not
    c.send([call, done, ping, 1])
    got = [c.read() for _ in range(3)]
    ok('a batch: each is answered', {m.get('id') for m in got if 'result' in m} == {'p', 'c'}, got)
    ok('a batch: what is no request', [m['error']['code'] for m in got if 'error' in m] == [-32600], got)
    c.send([])
    ok('an empty batch', c.read()['error']['code'] == -32600)
    ok('batches: ends in silence', c.close() == (0, b''), c.noise)
    c = client('2025-06-18')
    c.schemas = None
    c.send([ping])
    ok('no batch in 2025-06-18', c.read()['error']['code'] == -32600)
    c.close()


def check_errors():
    c = client()
    c.learn_tools()

    def error(params, method='tools/list', **extra):
        c.send({'jsonrpc': '2.0', 'id': 'x', 'method': method, 'params': params, **extra})
        return c.read()['error']

    ok('no _meta', error({})['code'] == -32602)
    old = error({'_meta': {META + 'protocolVersion': '1900-01-01', META + 'clientCapabilities': {}}})
    ok('version', old['code'] == -32022 and MODERN in old['data']['supported'] and
       old['data']['requested'] == '1900-01-01', old)
    ok('no capabilities', error({'_meta': {META + 'protocolVersion': MODERN}})['code'] == -32602)
    for bad, code in ((b'{', -32700), (b'[]', -32600), (b'1', -32600), (b'{"id":1}', -32600),
                      (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                      (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                      (b'\xff\xfe', -32700), (b'{"jsonrpc":"1.0","id":1,"method":"x"}', -32600),
                      (b'x' * (5 << 20), -32700)):
        c.send(bad)
        m = c.read()
        ok('refused: %r' % bad[:40], m['error']['code'] == code, m)
    ok('no such method', c.ask('tools/run')['error']['code'] == -32601)
    ok('no such tool', c.ask('tools/call', {'name': 'rm', 'arguments': {}})['error']['code'] == -32602)
    ok('nearest tool', "'nsys_ask'" in c.ask('tools/call', {'name': 'nsys_aks'})['error']['message'])

    def refused(code, tool, **arguments):
        result = c.ask('tools/call', {'name': tool, 'arguments': arguments})['result']
        e = content_of(result)['error'] if result.get('isError') else {'code': 'none'}
        ok('%s for %s %s' % (code, tool, arguments), e['code'] == code and
           len(json.dumps(e)) <= 1000 and 'nsys-explain ' not in e.get('message', '') and
           '--unit' not in e.get('message', ''), result)
        if jsonschema:
            jsonschema.Draft202012Validator(c.tools[tool]['outputSchema']).validate(content_of(result))
        return e

    e = refused('NO_SUCH_TRACE', 'nsys_explain', trace='nothing.sqlite')
    ok('traces to try', e['try'] and all(t.endswith('.sqlite') for t in e['try']))
    refused('OUTSIDE_ROOTS', 'nsys_explain', trace='/etc/passwd')
    # A request with a number or text that C cannot hold gets an answer.
    refused('BAD_ARGUMENT', 'nsys_explain', trace='synthetic.sqlite', budget=10 ** 21)
    refused('BAD_ARGUMENT', 'nsys_explain', trace='a\0b')
    refused('BAD_ARGUMENT', 'nsys_explain', trace='synthetic.sqlite\0.sqlite')
    refused('BAD_ARGUMENT', 'nsys_diff', before=['synthetic.sqlite\0'], after=['synthetic.sqlite'])
    for method in ('tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'):
        ok('no cursor of ' + method, c.ask(method, {'cursor': 'x'}).get('error', {}).get('code') == -32602)
    refused('OUTSIDE_ROOTS', 'nsys_explain', trace='../nsys-explain')
    refused('BAD_ARGUMENT', 'nsys_explain', trace=1)
    refused('BAD_ARGUMENT', 'nsys_explain')
    e = refused('BAD_ARGUMENT', 'nsys_explain', trace='synthetic.sqlite', colour='red')
    ok('the arguments that it takes', e['message'].endswith("'colour'; it takes trace, window, budget, cursor, detail, expect_trace_id"), e)
    refused('BAD_ARGUMENT', 'nsys_explain', trace='synthetic.sqlite', budget=10)
    refused('BAD_ARGUMENT', 'nsys_explain', trace='synthetic.sqlite', detail='some')
    r = c.call('nsys_fleet', traces=['synthetic.sqlite'])
    ok('a tool to ask next, no command', 'nsys_explain with the trace of rank' in text_of(r), r)
    refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='nonsense')
    e = refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='gapz')
    ok('the nearest question', "did you mean 'gaps'?" in e['message'], e)
    e = refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='verdict')
    ok('a question with a tool', 'nsys_explain' in e['message'], e)
    refused('BAD_ARGUMENT', 'nsys_explain', trace='synthetic.sqlite', window='99s..100s')
    refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='range', argument='x')
    refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='gaps', cursor='9999999')
    refused('BAD_ARGUMENT', 'nsys_diff', before=[], after=['synthetic.sqlite'])
    refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='at')
    refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='section', argument='sycn')
    e = refused('BAD_ARGUMENT', 'nsys_ask', trace='synthetic.sqlite', question='window', argument='phase:x')
    ok('a table is a resource', 'nsys://' in e['message'], e)
    refused('BAD_ARGUMENT', 'nsys_diff', before=['synthetic.sqlite'], after=['empty_tables.sqlite'])
    refused('BAD_ARGUMENT', 'nsys_diff', before=[1], after=['synthetic.sqlite'])
    refused('OUTSIDE_ROOTS', 'nsys_diff', before=['/etc/passwd'], after=['synthetic.sqlite'])
    refused('BAD_ARGUMENT', 'nsys_capture', preset="nonsense")
    refused('TRACE_CHANGED', 'nsys_explain', trace='synthetic.sqlite', expect_trace_id='0')
    c.close()


def check_unrelated():
    """Captures of unrelated programs are not compared."""
    c = client()
    r = c.call('nsys_diff', before=['diff_before.sqlite'], after=['gpu_bound.sqlite'])
    ok('diff of two programs', content_of(r)['values'].get('is_unrelated') is True and
       'tables' not in content_of(r) and 'instead of' not in json.dumps(r), r)
    r = c.call('nsys_diff', before=['diff_before.sqlite'], after=['diff_slower.sqlite'])
    ok('diff of one', 'is_unrelated' not in content_of(r)['values'] and content_of(r)['tables'], r)
    size = len(json.dumps(c.ask('tools/list')['result'], separators=(',', ':')))
    ok('the shape of answers is told once', size < 12000, size)
    c.close()


def check_files():
    """Tests roots, links, a file that changes, and a file that is no trace."""
    root = os.path.join(work, 'root')
    os.makedirs(root)
    a = os.path.join(root, 'a.sqlite')
    shutil.copy(os.path.join(fixtures, 'synthetic.sqlite'), a)
    os.chmod(a, 0o644)
    os.symlink(os.path.join(fixtures, 'ties.sqlite'), os.path.join(root, 'out.sqlite'))
    os.symlink('a.sqlite', os.path.join(root, 'in.sqlite'))
    os.mkfifo(os.path.join(root, 'pipe.sqlite'))
    with open(os.path.join(root, 'text.sqlite'), 'w') as f:
        f.write('no trace\n' * 1000)
    before = sorted((n, os.lstat(os.path.join(root, n)).st_mtime_ns) for n in os.listdir(root))
    c = client(roots=[root])

    def code(trace):
        r = c.call('nsys_explain', trace=trace)
        return content_of(r)['error']['code'] if r.get('isError') else content_of(r)['trace_id']

    first = code('a.sqlite')
    ok('the same file under another name', code('in.sqlite') == first and code(a) == first)
    ok('a link that leads out', code('out.sqlite') == 'OUTSIDE_ROOTS')
    ok('no trace', code('text.sqlite') == 'NOT_SQLITE', code('text.sqlite'))
    ok('a pipe', code('pipe.sqlite') in ('NOT_SQLITE', 'CANNOT_READ'), code('pipe.sqlite'))
    # A link that leads out, a text file and a pipe in a folder do not hide the other files.
    r = c.call('nsys_fleet', traces=['.'])
    ok('a folder of which some is left out', not r.get('isError') and '3 inputs' in text_of(r), text_of(r))
    links = os.path.join(root, 'links')
    os.makedirs(links)
    for name in ('one.sqlite', 'two.sqlite'):
        os.symlink(os.path.join(fixtures, 'ties.sqlite'), os.path.join(links, name))
    r = c.call('nsys_fleet', traces=['links'])
    ok('a folder of links that lead out', content_of(r)['error']['code'] == 'OUTSIDE_ROOTS', text_of(r))
    shutil.rmtree(links)
    ok('a folder', code('.') in ('NOT_SQLITE', 'CANNOT_READ'), code('.'))
    ok('nothing was written', before == sorted(
        (n, os.lstat(os.path.join(root, n)).st_mtime_ns) for n in os.listdir(root)))
    db = sqlite3.connect(a)
    db.execute('UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = "end" + 1000')
    db.commit()
    db.close()
    second = code('a.sqlite')
    ok('a trace that changes is read anew', second != first and len(second) == len(first))
    r = c.call('nsys_explain', trace='a.sqlite', expect_trace_id=first)
    ok('what was expected is gone', content_of(r)['error']['code'] == 'TRACE_CHANGED')
    os.remove(a)
    ok('a trace that is gone', code('a.sqlite') == 'NO_SUCH_TRACE')
    c.close()
    # With a cache that holds one trace at a time the answers stay the same.
    c = client(options=['--cache-mb', '0'])
    seen = [text_of(c.call('nsys_explain', trace=t + '.sqlite')) for t in ('synthetic', 'ties') * 3]
    ok('traces that were let go', len(set(seen)) == 2)
    c.close()


def check_windows():
    """A part of a trace gets the same answers as on the command line, while the whole trace is open, too."""
    c = client()
    whole = content_of(c.call('nsys_explain', trace='synthetic.sqlite'))
    part = content_of(c.call('nsys_explain', trace='synthetic.sqlite', window='0.001..0.002'))
    ok('the window is judged', part['values']['judged_ms'] == 1, part)
    ok('what is asked next is about the window',
       [n['arguments'].get('window') for n in part['next']] == ['0.001..0.002'] * len(part['next']), part)
    r = content_of(c.call('nsys_ask', trace='synthetic.sqlite', window='0.001..0.002', question='gaps'))
    ok('a question about a window', r['window']['length_ns'] == 10 ** 6, r)
    ok('the whole trace is as before', content_of(c.call('nsys_explain', trace='synthetic.sqlite')) == whole)
    c.close()


def check_words():
    """Sentences name tools and arguments, not commands and options."""
    c = client()
    said = [text_of(c.call('nsys_explain', trace=t)) for t in ('backpressure.sqlite', 'run_phases.sqlite', 'osrt.sqlite')]
    ok('no command line', not any(w in s for s in said for w in ('nsys-explain ', '--preset', '--window')), said)
    ok('tools are named', any('nsys_capture preset ' in s for s in said), said)
    c.close()
    # A name of the trace stays as it is, even if it reads like an option.
    root = os.path.join(work, 'words')
    os.makedirs(root)
    shutil.copy(os.path.join(fixtures, 'call_sites.sqlite'), os.path.join(root, 't.sqlite'))
    db = sqlite3.connect(os.path.join(root, 't.sqlite'))
    db.execute("UPDATE NVTX_EVENTS SET text = '--window x' WHERE text IS NOT NULL")
    db.commit()
    db.close()
    c = client(roots=[root])
    said = text_of(c.call('nsys_explain', trace='t.sqlite'))
    ok('a name like an option', '`--window x`' in said, said)
    said = text_of(c.call('nsys_ask', trace='t.sqlite', question='range', argument='none'))
    ok('a name like an option in an error', "'--window x'" in said, said)
    c.close()


def check_swapped():
    """A file, or its folder, is repeatedly exchanged for a link that leads out of the root. No answer may
    be of a file outside, or name one."""
    root, outside = (os.path.join(work, 'swapped', n) for n in ('root', 'outside'))
    os.makedirs(os.path.join(root, 'in'))
    os.makedirs(outside)
    for n in range(1, 4):
        shutil.copy(os.path.join(fixtures, 'ties.sqlite'), os.path.join(outside, 'private%d.sqlite' % n))
    shutil.copy(os.path.join(fixtures, 'ties.sqlite'), os.path.join(outside, 't.sqlite'))
    shutil.copy(os.path.join(fixtures, 'synthetic.sqlite'), os.path.join(root, 'in/t.sqlite'))
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    for swapped, leads_to in (('in/t.sqlite', 't.sqlite'), ('in', '')):
        names = [os.path.join(root, n).encode() for n in (swapped, 'link')]
        os.symlink(os.path.join(outside, leads_to), names[1])
        over = threading.Event()

        def swap():
            while not over.is_set() and not exchange(-100, names[0], -100, names[1], 2):
                pass

        c = client(roots=[root], options=['--cache-mb', '0'])
        swapping = threading.Thread(target=swap)
        swapping.start()
        seen, told = collections.Counter(), ''
        for i in range(1000):
            r = c.call('nsys_sql', trace='in/t.sqlite', sql='SELECT count(*) AS n FROM kernel')
            seen[content_of(r)['error']['code'] if r.get('isError') else content_of(r)['tables']['rows'][0]['n']] += 1
            told += json.dumps(r)
            if i % 10 == 0:
                told += json.dumps(c.call('nsys_fleet', traces=['in']))
        over.set()
        swapping.join()
        c.close()
        os.unlink(names[os.path.islink(names[1])])
        if os.path.exists(names[1]):
            os.rename(names[1], names[0])
        ok('links that are swapped in for ' + swapped, seen[5] and set(seen) <= {5, 'OUTSIDE_ROOTS', 'CANNOT_READ', 'NO_SUCH_TRACE'}, dict(seen))
        ok('names outside', 'private' not in told, told[told.find('private') - 200:])


def check_digests():
    """Ranks that are given as digests, all or some, give the same as their traces."""
    folder = os.path.join(work, 'digests')
    os.makedirs(folder)
    for name in ('nccl_three_ranks', 'two_rank_straggler'):
        shutil.copy(os.path.join(fixtures, name + '.sqlite'), folder)
        subprocess.run([program, 'digest', name + '.sqlite', '-q', '-o', name + '.nsxd'],
                       cwd=folder, check=True)
    c = client(roots=[folder])
    want = content_of(c.call('nsys_fleet', traces=['nccl_three_ranks.sqlite']))
    r = c.call('nsys_fleet', traces=['nccl_three_ranks.nsxd'])
    ok('digests are as their traces', not r.get('isError') and all(
        content_of(r)[k] == v for k, v in want.items() if k != 'next'), text_of(r))
    r = c.call('nsys_fleet', traces=['nccl_three_ranks.nsxd', 'two_rank_straggler.sqlite'])
    ok('digests beside traces', not r.get('isError'), text_of(r))
    with open(os.path.join(folder, 'no.nsxd'), 'w') as f:
        f.write('no digest\n')
    r = c.call('nsys_fleet', traces=['nccl_three_ranks.nsxd', 'no.nsxd'])
    ok('why one is left out', 'Left out: ' in text_of(r) and 'no.nsxd' in text_of(r), text_of(r))
    r = c.call('nsys_fleet', traces=['no.nsxd'])
    ok('why all are', r.get('isError') and 'no.nsxd' in text_of(r), text_of(r))
    c.close()


def check_loaded():
    """Traces in memory give the same comparison and the same ranks as their files."""
    several = [('nsys_diff', {'before': ['diff_before.sqlite'], 'after': ['diff_slower.sqlite']}),
               ('nsys_fleet', {'traces': ['nccl_three_ranks.sqlite']})]
    fresh, warm = client(), client()
    for trace in ('diff_before.sqlite', 'diff_slower.sqlite', 'nccl_three_ranks.sqlite'):
        warm.call('nsys_explain', trace=trace)
    for tool, k in several:
        want = fresh.call(tool, **k)
        ok(tool + ' of traces in memory', [warm.call(tool, **k), warm.call(tool, **k)] == [want, want])
        ok(tool + ' leads to its traces', [n['arguments']['trace'] for n in content_of(want)['next']] ==
           [*k.get('after', []), *k.get('before', []), *k.get('traces', [])], content_of(want)['next'])
    ok('asked again, they are as they were', fresh.call('nsys_explain', trace='diff_slower.sqlite') ==
       warm.call('nsys_explain', trace='diff_slower.sqlite'))
    fresh.close()
    warm.close()


def check_command():
    """The command reads only what its question needs, and gives the same answer as the server."""
    def holds(a, b):
        if isinstance(a, dict):
            return all(holds(v, b.get(k)) for k, v in a.items())
        if isinstance(a, list):
            return bool(a) == bool(b) and all(map(holds, a, b))  # each shows so many rows
        return abs(a - b) < 0.01 if isinstance(a, float) and b is not None else a == b

    asked = [('at', '2000000ns'), ('window', '0..0.01'), ('gaps', None), ('why', '3600000ns'), ('range', '.'), ('kernel', '.'),
             ('stream', '7'), ('thread', '111'), ('iteration', '1'), ('what-if', 'host:2x'), ('what-if', 'no:cudaStreamSynchronize')]
    c, seen = client(), 0
    for trace in ('synthetic.sqlite', 'two_rank_straggler.sqlite', 'steps_numbered.sqlite'):
        for question, argument in asked:
            k = {'argument': argument} if argument else {}
            r = c.call('nsys_ask', trace=trace, question=question, **k)
            told = subprocess.run([program, 'ask', os.path.join(fixtures, trace), question, *k.values(), '--json'],
                                  capture_output=True, text=True)
            if r.get('isError'):
                ok('ask %s of %s fails, too' % (question, trace), told.returncode)
                continue
            want = {**content_of(r).get('values', {}), **content_of(r).get('tables', {})}
            seen += len(want)
            ok('ask %s of %s' % (question, trace), holds(want, json.loads(told.stdout)), told.stdout)
    ok('answers with figures were compared', seen > 40, seen)
    r = c.call('nsys_explain', trace='steps_vllm.sqlite')
    ok('the first answer on an engine leads to its steps', 'steps' in [
        n['arguments'].get('question') for n in content_of(r)['next']], r)
    r = c.call('nsys_ask', trace='steps_vllm.sqlite', question='steps', argument='decode')
    text = r['content'][0]['text']
    ok('it tells what a step consists of to the end', '0.5 % idle inside steps.' in text, text)
    c.close()


def check_transcripts():
    """Compares whole sessions with golden files: a line that was sent, the line that came back (empty if
    none), and so on. Ids of traces are left out, because they are hashes of files that another SQLite
    writes with other bytes."""
    root = os.path.join(work, 'sessions')
    os.mkdir(root)
    for trace in ('synthetic.sqlite', 'two_rank_straggler.sqlite'):
        shutil.copy(os.path.join(fixtures, trace), root)
    for path in sorted(glob.glob(os.path.join(os.path.dirname(__file__), '*.jsonl'))):
        with open(path) as f:
            lines = f.read().split('\n')[:-1]
        c = Client(program, [root])
        for i in range(0, len(lines), 2):
            c.send(lines[i].encode())
            got = ''
            if '"id"' in lines[i]:
                got = re.sub('(trace_id[^0-9a-f]{1,8}|nsys://)[0-9a-f]{16}', r'\1-', c.p.stdout.readline().decode().rstrip('\n'))
            if 'UPDATE' in os.environ:
                lines[i + 1:i + 2] = [got]
            else:
                ok('%s, line %d' % (os.path.basename(path), i + 2), got == lines[i + 1], got)
        c.close()
        if 'UPDATE' in os.environ:
            with open(path, 'w') as f:
                f.write('\n'.join(lines) + '\n')


def check_budget():
    c = client()
    c.learn_tools()
    rows, cursor, sizes = [], None, []
    while True:
        r = c.call('nsys_ask', trace='kernel_names.sqlite', question='kernel', argument='.', budget=500,
                   **({'cursor': cursor} if cursor else {}))
        d = content_of(r)
        sizes.append(len(json.dumps(d, separators=(',', ':'))))
        rows += d.get('tables', {}).get('shapes', [])
        if 'cursor' not in d.get('truncated', {}):
            break
        ok('cost of the rest', d['truncated']['cost_of_rest_tokens'] > 0 and
           'cursor "%s"' % d['truncated']['cursor'] in text_of(r))
        cursor = d['truncated']['cursor']
    whole = content_of(c.call('nsys_ask', trace='kernel_names.sqlite', question='kernel',
                              argument='.', budget=16000))
    ok('pages add up to the whole', rows == whole['tables']['shapes'], (len(rows), len(whole['tables']['shapes'])))
    ok('within the budget', max(sizes) <= 1500, sizes)
    for name in ('mfu_2gpu_before', 'a100_llm_nvtx'):
        if not os.path.exists(os.path.join(traces, name + '.sqlite')):
            skip('budgets on ' + name)
            continue
        d = client(roots=[traces])
        for budget in (500, 1500, 16000):
            for question in ('findings', 'gaps', 'section', 'window'):
                k = {'section': {'argument': 'top_kernels'}, 'window': {'argument': '0..10'}}.get(question, {})
                r = d.call('nsys_ask', trace=name + '.sqlite', question=question, budget=budget, **k)
                size = len(json.dumps(content_of(r), separators=(',', ':')))
                ok('%s within %d' % (question, budget), size <= min(3 * budget, 45000) and
                   len(text_of(r)) <= 45000, size)
        d.close()
    c.close()


def check_threads_of_talk():
    """Tests cancelling, progress, two clients, and clients that die."""
    c = client()
    a = c.post('tools/call', {'name': 'nsys_explain', 'arguments': {'trace': 'synthetic.sqlite'}})
    c.tell('notifications/cancelled', {'requestId': 'nothing'})
    b = c.post('resources/list')
    code, rest = c.close()
    ids = [json.loads(x).get('id') for x in rest.splitlines()]
    ok('what was asked before the end of input is answered', code == 0 and set(ids) == {a, b}, ids)
    big = os.path.join(traces, 'h100_2gpu_1s.sqlite')
    if os.path.exists(big):
        c = client(roots=[traces])
        for pause in (0, 0.1):
            slow = c.post('tools/call', {'name': 'nsys_explain',
                                         'arguments': {'trace': 'h100_2gpu_1s.sqlite'}}, token='t')
            time.sleep(pause)
            c.tell('notifications/cancelled', {'requestId': slow})
            began = time.time()
            after = c.call('nsys_explain', trace=os.path.join(traces, 'nvtx_only.sqlite'))
            ok('cancelled soon', time.time() - began < 3, time.time() - began)
            ok('an answer after that', not after.get('isError'), after)
            ok('none to what was cancelled at once', pause or
               slow not in [json.loads(x).get('id') for x in c.log])
        again = c.call('nsys_explain', token=7, trace='h100_2gpu_1s.sqlite')
        seen = [m['params']['progress'] for m in c.told]
        ok('progress rises', seen == sorted(seen) and all(
            m['params']['progressToken'] == 7 for m in c.told), c.told)
        ok('not spoilt', not again.get('isError'))
        began = time.time()
        c.call('nsys_explain', trace='h100_2gpu_1s.sqlite')
        ok('the second answer is quick', time.time() - began < 0.5, time.time() - began)
        c.close()
    else:
        skip('cancelling and progress: no trace that takes long')
    clients = [client(), client(LEGACY[-1])]
    texts = []
    threads = [threading.Thread(target=lambda x=x: texts.append(
        [text_of(x.call('nsys_explain', trace='synthetic.sqlite')) for _ in range(20)]))
        for x in clients]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    ok('two clients', len(texts) == 2 and texts[0] == texts[1])
    for x in clients:
        ok('both end', x.close()[0] == 0)
    dead = client()
    for _ in range(50):
        dead.post('tools/call', {'name': 'nsys_explain', 'arguments': {'trace': 'synthetic.sqlite'}})
    dead.p.stdout.close()
    dead.p.stdin.close()
    began = time.time()
    code = dead.p.wait(timeout=60)
    ok('a client that dies', code == 0 and time.time() - began < 10, code)
    killed = client()
    killed.ask('server/discover')
    killed.p.send_signal(signal.SIGTERM)
    ok('SIGTERM', killed.p.wait(timeout=10) == 0)


def check_sections():
    """Each section alone is valid by the program's own schemas."""
    c = client()
    c.learn_tools()
    lines = subprocess.run([program, 'passes'], capture_output=True, text=True).stdout.splitlines()
    sections = [x.split()[0] for x in lines if x[:1].isalpha()]
    ok('sections', len(sections) > 40, sections)
    for trace in ('two_rank_straggler.sqlite', 'diff_renamed.sqlite', 'um_faults.sqlite'):
        answers = [c.call('nsys_ask', trace=trace, question='section', argument=s) for s in sections]
        ok('sections of ' + trace, not any(a.get('isError') for a in answers))
    c.close()


def outside_code(text):
    """Markdown without its code spans."""
    return re.sub(r'`[^`\n]*`', '', text)


def check_names():
    c = client()
    questions = [{'question': 'findings'}, {'question': 'gaps'}, {'question': 'window', 'argument': '0..1'},
                 {'question': 'kernel', 'argument': '.'}, {'question': 'stream', 'argument': '7'},
                 {'question': 'thread', 'argument': '111'}, {'question': 'at', 'argument': '1500000ns'},
                 {'question': 'why', 'argument': '2500000ns'}, {'question': 'iteration', 'argument': '1'}]
    questions += [{'question': 'finding', 'argument': str(i)} for i in range(1, 6)]
    questions += [{'question': 'section', 'argument': s} for s in (
        'top_kernels', 'nvtx', 'nvtx_kernel_time', 'gpu_idle', 'host_threads', 'by_pid', 'launches')]
    seen = 0
    for trace in ('instructions.sqlite', 'hostile_names.sqlite'):
        results = [c.call('nsys_explain', trace=trace)]
        results += [c.call('nsys_ask', trace=trace, **q) for q in questions]
        results += [c.call('nsys_ask', trace=trace, question='range', argument='nothing of the kind')]
        for r in results:
            text = text_of(r)
            seen += text.count('Ignore all previous')
            if not r.get('isError'):
                ok('instructions are quoted in ' + trace, 'Ignore all' not in outside_code(text), text)
            whole = text + json.dumps(r['structuredContent'], ensure_ascii=False)
            ok('no control characters', not re.search(
                '[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]', whole), whole)
    ok('instructions were seen', seen > 10, seen)
    c.close()


def check_secrets():
    c = client()
    out = []
    for question in ({'question': 'findings'}, {'question': 'section', 'argument': 'input'},
                     {'question': 'section', 'argument': 'capture_quality'}):
        out.append(c.call('nsys_ask', trace='secrets.sqlite', **question))
    out.append(c.call('nsys_explain', trace='secrets.sqlite', detail='full'))
    out.append(c.call('nsys_capture', trace='secrets.sqlite'))
    for table in ('TARGET_INFO_SYSTEM_ENV', 'META_DATA_CAPTURE', 'META_DATA_EXPORT', 'DIAGNOSTIC_EVENT',
                  'ProcessStreams', 'ANALYSIS_FILE', 'StringIds', 'system_env', 'capture_meta',
                  'export_meta', 'diagnostic', 'string', '_string', 'sqlite_master'):
        for where in ('', 'main.', 'temp.'):
            out.append(c.call('nsys_sql', trace='secrets.sqlite',
                              sql='SELECT * FROM %s%s' % (where, table)))
    for entry in c.ask('resources/list')['result']['resources']:
        out.append(c.ask('resources/read', {'uri': entry['uri']}))
    found = sorted(set(re.findall('SECRET_MARKER_[0-9]*', json.dumps(out))))
    ok('no secrets', not found, found)
    c.close()


def mutate(rng, line):
    b = bytearray(line)
    for _ in range(rng.randint(1, 4)):
        what, at = rng.randint(0, 6), rng.randrange(len(b) + 1)
        if what == 0:
            del b[at:at + rng.randint(1, 8)]
        elif what == 1:
            b[at:at] = bytes(rng.choice(b'{}[]",:\\0129eE+-.tfn \x00\x7f\xff') for _ in range(rng.randint(1, 3)))
        elif what == 2 and b:
            b[at % len(b)] = rng.randrange(256)
        elif what == 3:
            b[at:at] = b[at:at + rng.randint(1, 40)]
        elif what == 4:
            b = bytearray(bytes(b).replace(rng.choice([b'2.0', b'tools', b'trace', b'1']),
                                           rng.choice([b'', b'null', b'{}', b'9' * 30, b'"'])))
        elif what == 5:
            b[at:at] = rng.choice([b'\\u0000', b'\\ud800', b'[' * 200, b'{"a":' * 100, b'1e999', b'-0'])
        else:
            b = b[:at] + bytearray(b[rng.randrange(len(b) + 1):])
    return bytes(b).replace(b'\n', b' ')


def check_mutations():
    rng = random.Random(41)
    meta = {META + 'protocolVersion': MODERN, META + 'clientCapabilities': {}, 'progressToken': 1}
    seeds = [{'method': 'server/discover', 'params': {'_meta': meta}}]
    seeds += [{'method': 'tools/call', 'params': {'name': t, 'arguments': dict(a, budget=500), '_meta': meta}}
              for t, a in CALLS if t not in ('nsys_diff', 'nsys_fleet')]
    seeds += [{'method': m, 'params': {'_meta': meta}} for m in ('resources/list', 'prompts/list')]
    seeds += [{'method': 'resources/read', 'params': {'uri': 'nsys://0123456789abcdef/report.md', '_meta': meta}},
              {'method': 'notifications/cancelled', 'params': {'requestId': 1}},
              {'method': 'initialize', 'params': {'protocolVersion': '2025-06-18', 'capabilities': {}}}]
    seeds = [json.dumps({'jsonrpc': '2.0', 'id': 1, **s}).encode() for s in seeds]
    lines = [mutate(rng, rng.choice(seeds)) for _ in range(mutations)]
    c = Client(program, [fixtures])
    sent = threading.Thread(target=lambda: (c.p.stdin.write(b'\n'.join(lines) + b'\n'), c.p.stdin.close()))
    sent.start()
    out = c.p.stdout.read()
    sent.join()
    code = c.p.wait(timeout=600)
    answers = out.split(b'\n')
    stray = []
    for a in answers[:-1]:
        try:
            m = json.loads(a)
            if m.get('jsonrpc') != '2.0' or ('result' in m) + ('error' in m) + ('method' in m) != 1:
                stray.append(a)
        except ValueError:
            stray.append(a)
    replies = sum(b'"method"' not in a[:60] for a in answers[:-1])
    ok('%d mutated lines' % mutations, code == 0 and not stray and answers[-1] == b'' and
       replies <= mutations, (code, stray[:2], replies, c.noise[-5:]))
    ok('some are answered', replies > mutations / 10, replies)


def check_config():
    for name in ('claude', 'codex', 'cursor', 'vscode', 'gemini'):
        text = subprocess.run([program, 'mcp', '--print-config', name], capture_output=True, text=True).stdout
        if name == 'codex':
            try:
                import tomllib
            except ImportError:
                skip('settings of codex: this Python has no tomllib')
                continue
            server = tomllib.loads(text)['mcp_servers']['nsys-explain']
        else:
            whole = json.loads(text)
            server = (whole.get('mcpServers') or whole.get('servers'))['nsys-explain']
        ok('settings of ' + name, server['command'] == os.path.realpath(program) and server['args'][0] == 'mcp')
    text = subprocess.run([program, 'mcp', '--print-config', 'claude', '--root', '/usr/lib/..', '--root', '/'], capture_output=True, text=True).stdout
    ok('settings have the roots', json.loads(text)['mcpServers']['nsys-explain']['args'] == ['mcp', '--root', '/usr', '--root', '/'], text)


if jsonschema is None:
    skip('lines against the schemas: no jsonschema for Python')
elif not os.path.isdir(schemas.folder):
    skip("lines against the protocol's schemas: not here")
for revision in LEGACY + [MODERN]:
    check_revision(revision)
for check in (check_errors, check_batches, check_unrelated, check_windows, check_words, check_files, check_swapped, check_digests, check_loaded, check_command, check_transcripts, check_budget, check_threads_of_talk, check_sections, check_names, check_secrets,
              check_config, check_mutations):
    try:
        check()
    except Exception as e:
        import traceback
        ok(check.__name__, False, traceback.format_exc()[-900:])
print('%d lines and results were checked against schemas' % schemas.checked)
print('mcp: %(passed)d passed, %(failed)d failed, %(skipped)d skipped' % counts)
sys.exit(counts['failed'] > 0)
