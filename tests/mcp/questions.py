"""Questions about real traces whose answers are known from SQL or from the traces' description. A
client that follows `next` must have the answer within three calls and 8 000 tokens (of three bytes).
From the question it knows only the first call and the kinds of questions to follow.
usage: questions.py PROGRAM SHARED"""
import json
import os
import re
import sqlite3
import sys

from client import Client

program, shared = sys.argv[1:3]
CALLS, TOKENS = 3, 8000
GAP = '''SELECT max(start - before) FROM (SELECT start, max("end") OVER (ORDER BY start, "end"
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (%s))'''
KERNELS = 'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL'
COPIES = 'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_MEMCPY'
TOP_CALL = '''SELECT value FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId
    WHERE value LIKE 'cuda%' GROUP BY value ORDER BY sum("end" - start) DESC LIMIT 1'''


def idle(db):
    """Time between the first and the last kernel in which neither kernel nor copy nor memset ran."""
    spans = [r for t in ('KERNEL', 'MEMCPY', 'MEMSET') if db.execute(
        "SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_' || ?", (t,)).fetchone()[0]
        for r in db.execute('SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_' + t)]
    at, until = db.execute('SELECT min(start), max("end") FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()
    free = 0
    for start, end in sorted(spans):
        free += max(0, min(start, until) - at)
        at = max(at, min(end, until))
    return (free,)


def outermost(db):
    """Number and time of the range of RANGE, without those that lie in a range of the same name."""
    name = db.execute(RANGE).fetchone()[0]
    count = total = 0
    last = {}
    for thread, start, end in db.execute("""SELECT globalTid, start, "end" FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId
            WHERE coalesce(text, value) = ? AND "end" IS NOT NULL AND eventType = 59 ORDER BY 1, 2, 3 DESC""", (name,)):
        if start >= last.get(thread, start):
            count, total, last[thread] = count + 1, total + end - start, end
    return count, total


def launcher(db):
    """The call whose work ends the GPU's longest idle time."""
    work = sorted(r for t in ('KERNEL', 'MEMCPY', 'MEMSET') for r in db.execute(
        'SELECT start, "end", correlationId FROM CUPTI_ACTIVITY_KIND_' + t))
    latest, best = work[0][1], (0, None)
    for start, end, correlation in work[1:]:
        best = max(best, (start - latest, correlation))
        latest = max(latest, end)
    return db.execute("""SELECT value FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId
        WHERE correlationId = ?""", best[1:]).fetchone()


RANGE = """SELECT coalesce(text, value) AS name FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId
    WHERE "end" IS NOT NULL AND eventType = 59 AND name NOT GLOB '*[0-9]*' GROUP BY 1 ORDER BY sum("end" - start) DESC LIMIT 1"""
MAIN_THREAD = """SELECT globalTid % 16777216 FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"""
LONGEST_AT = """SELECT ((start + "end") / 2) || 'ns' FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY "end" - start DESC, start LIMIT 1"""
LONGEST = 'SELECT start, "end" - start FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 2 DESC, 1 LIMIT 1'
HULL = """SELECT min(start) || 'ns..' || max("end") || 'ns' FROM CUPTI_ACTIVITY_KIND_KERNEL"""


def ask(question, argument=None):
    return ('nsys_ask', {'question': question, **({'argument': argument} if argument else {})})


EXPLAIN = ('nsys_explain', {})
# Columns: trace, question, first call, kinds of questions to follow, pattern of the answer, SQL.
# Each %s of the pattern stands for a column of the one row that the SQL (or the function) gives.
# An argument that is a SELECT stands for its value.
QUESTIONS = [
    ('h100_2gpu_1s', 'What bounds this run?', EXPLAIN, [], 'copy-bound', None),
    ('h100_2gpu_1s', 'Which way do the copies go that cost most?', EXPLAIN, ['finding'], '%s',
     """SELECT CASE copyKind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' ELSE '?' END
        FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY copyKind ORDER BY sum("end" - start) DESC LIMIT 1"""),
    ('a100_llm_nvtx', 'How long do all kernels take?', ask('kernel', '.'), [], '"total_ns":%s',
     'SELECT sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL'),
    ('a100_llm_nvtx', 'How long is the longest kernel?', ask('kernel', '.'), ['at'], '"duration_ns":%s',
     'SELECT max("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL'),
    ('rtx3090_2023', 'How many kernels ran on stream 82?', ask('stream', '82'), [], '"count":%s',
     '''SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE streamId = 82 GROUP BY demangledName
        ORDER BY sum("end" - start) DESC LIMIT 1'''),
    ('rtx3060_many_kernels', 'How many kernels are there?', ('nsys_sql', {'sql': 'SELECT count(*) AS n FROM kernel'}),
     [], '"n":%s', 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL'),
    ('cpu_only_sched', 'Was the GPU used?', EXPLAIN, [], 'no GPU work', None),
    ('osrt_only', 'What does a main thread spend most time in?', EXPLAIN, [], 'calls of %s take',
     '''SELECT value FROM OSRT_API JOIN StringIds ON id = nameId
        WHERE globalTid % 0x1000000 = globalTid / 0x1000000 % 0x1000000
        GROUP BY globalTid, value ORDER BY sum("end" - start) DESC LIMIT 1'''),
    ('api_without_kernels', 'Which CUDA call takes most time?', EXPLAIN, [], '%s', TOP_CALL),
    ('a100_cuda_graphs', 'How often were graphs replayed?', ask('section', 'cuda_graphs'), [], '"replays":%s',
     'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE'),
    ('a100_cuda_graphs', 'Can this trace tell what is slow inside a graph?', EXPLAIN, ['finding'],
     'graphs traced node by node', None),
    ('nothing_2021', 'What must be recorded to see memory?', ('nsys_capture', {'preset': 'memory'}), [],
     'cuda-memory-usage=true', None),
    ('t4_solver', 'How long was the GPU idle at most?', ask('gaps', '0..1000'), [], '"duration_ns":%s',
     GAP % (KERNELS + ' UNION ALL ' + COPIES + ' UNION ALL SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_MEMSET')),
    ('t4_solver', 'Why was it?', ask('gaps', '0..1000'), ['why'], 'GPU 0 waited 47[.]8 ms', None),
    ('a100_cloverleaf', 'How often does the host wait for the device?', ask('section', 'sync'), [],
     '"api_name":"cudaDeviceSynchronize[^}]*"call_count":%s',
     """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId
        WHERE value LIKE 'cudaDeviceSynchronize%'"""),
    ('unified_memory', 'How often did memory migrate to the GPU?', ask('section', 'copies'), [],
     '"direction":"UVM HtoD"[^}]*"count":%s', 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 11'),
    ('uvm_oversubscribed', 'How many page faults did the GPU have?', ask('section', 'memory_usage'), [],
     '"fault_count":%s', 'SELECT sum(numberOfPageFaults) FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS'),
    ('rtx3070ti_training', 'Which kernel takes most time, and how often does it run?', ask('section', 'top_kernels'), [],
     '"call_count":%s,"total_time_ns":%s,', '''SELECT count(*), sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL
        GROUP BY demangledName ORDER BY 2 DESC LIMIT 1'''),
    (None, 'Did the step get slower, and by how much?',
     ('nsys_diff', {'before': ['mfu_2gpu_before.sqlite'], 'after': ['mfu_2gpu_after.sqlite']}), [],
     '"shift_pct_of_before":12\\.', None),
    (None, 'How many ranks are in this job?', ('nsys_fleet', {'traces': ['job_rank0.sqlite', 'job_rank1.sqlite']}), [],
     '"ranks":2', None),
    # The answers to the following questions were worked out before the program was asked.
    ('a100_video', 'Which is the longest kernel?', ask('kernel', '.'), ['at'], '"start_ns":%s,"duration_ns":%s', LONGEST),
    ('jetson_orin', 'How many bytes went to the GPU?', ask('section', 'copies'), [], '"direction":"HtoD"[^}]*"bytes":%s',
     'SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1'),
    ('mpi_p2p_4gpu', 'Which MPI call takes most time?', ask('section', 'library_calls'), [], '"rows":\\[{[^}]*"%s"',
     """SELECT value FROM (SELECT textId, start, "end" FROM MPI_P2P_EVENTS UNION ALL SELECT textId, start, "end" FROM MPI_OTHER_EVENTS
        UNION ALL SELECT textId, start, "end" FROM MPI_COLLECTIVES_EVENTS UNION ALL SELECT textId, start, "end" FROM MPI_START_WAIT_EVENTS)
        JOIN StringIds ON id = textId GROUP BY 1 ORDER BY sum("end" - start) DESC LIMIT 1"""),
    ('nsys2020_openacc', 'How long did the GPU idle between its first kernel and its last?', ask('window', HULL), [],
     '"GPU 0":{[^}]*"idle_ns":%s', idle),
    ('graph_nodes_2021', 'How often is the graph launched?', ask('section', 'cuda_graphs'), [], '"launches":%s',
     """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value LIKE 'cudaGraphLaunch%'"""),
    ('cutlass_callchains', 'What does the launching thread spend its time in?', ask('thread', MAIN_THREAD), [],
     '"calls":\\[{[^}]*"name":"%s","count":%s,"total_ns":%s', """SELECT value, count(*), sum("end" - start)
        FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId GROUP BY 1 ORDER BY 3 DESC LIMIT 1"""),
    ('nccl_2proc_skewed', 'How long do sends and receives take?', ask('kernel', 'SendRecv'), [], '"total_ns":%s',
     """SELECT sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName
        WHERE value LIKE '%SendRecv%'"""),
    ('windows_2026', 'What runs in the middle of the longest kernel?', ask('at', LONGEST_AT), [],
     '"start_ns":%s,"duration_ns":%s', LONGEST),
    ('mfu_2gpu_before', 'How often, and how long, is the range open that takes most time?', ask('range', RANGE), [],
     '"count":%s,"host_ns":%s', outermost),
    ('a100_gpu_metrics', 'What is the most that was sent over PCIe?', ask('section', 'gpu_metrics'), [],
     '"metric_name":"PCIe TX Throughput[^}]*"max":%s',
     """SELECT max(value) FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)
        WHERE metricName LIKE 'PCIe TX%' AND timestamp BETWEEN (SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL)
        AND (SELECT max("end") FROM CUPTI_ACTIVITY_KIND_KERNEL)"""),
    ('nsys2020_cudf', 'Which call launched what ended the longest idle time?', ask('gaps', HULL), ['why'],
     'launched by `?%s', launcher),
]


def database(trace):
    return sqlite3.connect('file:%s?mode=ro' % os.path.join(shared, 'traces', trace + '.sqlite'), uri=True)


def wanted(trace, pattern, source):
    if not source:
        return pattern
    row = source(database(trace)) if callable(source) else database(trace).execute(source).fetchone()
    return pattern % tuple(re.escape(re.sub(r'_v\d+$', '', str(v))) for v in row)


def answer(client, trace, call, follow):
    """The texts that the client has seen when it stops, and the number of calls and tokens."""
    seen, tokens, calls = '', 0, 0
    tool, arguments = call
    if str(arguments.get('argument')).startswith('SELECT '):
        arguments = dict(arguments, argument=str(database(trace).execute(arguments['argument']).fetchone()[0]))
    arguments = dict(arguments, **({'trace': trace + '.sqlite'} if trace else {}))
    while True:
        d = client.call(tool, **arguments)['structuredContent']
        text = json.dumps(d, separators=(',', ':'), ensure_ascii=False)
        calls, tokens, seen = calls + 1, tokens + len(text.encode()) // 3, seen + text
        if calls > len(follow):
            return seen, calls, tokens
        step = next((n for n in d['next'] if n['arguments'].get('question') == follow[calls - 1]), None)
        if not step:
            return seen + ' no next question is ' + follow[calls - 1], calls, tokens
        tool, arguments = step['tool'], step['arguments']


passed = failed = 0
c = Client(program, [os.path.join(shared, 'traces')])
for trace, question, call, follow, pattern, sql in QUESTIONS:
    want = wanted(trace, pattern, sql)
    seen, calls, tokens = answer(c, trace, call, follow)
    if re.search(want, seen) and calls <= CALLS and tokens <= TOKENS:
        passed += 1
    else:
        failed += 1
        print('FAIL questions: %s: %s wanted %s; %d calls, %d tokens: %s' % (trace, question, want, calls, tokens, seen[:int(os.environ.get('SHOW', 300))]))
c.close()
print('questions: %d passed, %d failed' % (passed, failed))
sys.exit(failed > 0)
