"""DuckDB reads the tables of a report as streams of Arrow and as the Parquet files of the Python
package. Both give the cells that the package gives.

usage: arrow.py LIBDUCKDB TRACE
"""
import ctypes as C
import sys
import nsx

duckdb = C.CDLL(sys.argv[1])
duckdb.duckdb_arrow_scan.argtypes = [C.c_void_p, C.c_char_p, C.c_void_p]
duckdb.duckdb_value_varchar.restype = C.c_void_p
duckdb.duckdb_column_name.restype = duckdb.duckdb_result_error.restype = C.c_char_p
for count in duckdb.duckdb_row_count, duckdb.duckdb_column_count:
    count.restype = C.c_uint64
pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(("PyCapsule_GetPointer", C.pythonapi))
database, connection = C.c_void_p(), C.c_void_p()
assert not duckdb.duckdb_open(None, C.byref(database))
assert not duckdb.duckdb_connect(database, C.byref(connection))


def read(table):
    result = (C.c_char * 64)()
    failed = duckdb.duckdb_query(connection, f"SELECT * FROM {table}".encode(), result)
    assert not failed, duckdb.duckdb_result_error(result)
    names = [duckdb.duckdb_column_name(result, C.c_uint64(c)).decode()
             for c in range(duckdb.duckdb_column_count(result))]
    rows = []
    for r in range(duckdb.duckdb_row_count(result)):
        cells = [duckdb.duckdb_value_varchar(result, C.c_uint64(c), C.c_uint64(r)) for c in range(len(names))]
        rows.append([None if c is None else C.string_at(c).decode() for c in cells])
    duckdb.duckdb_destroy_result(result)
    return names, rows


def same(ours, theirs):
    if isinstance(ours, (bool, type(None))):
        return theirs == {True: "true", False: "false", None: None}[ours]
    return ours == type(ours)(theirs)


run = nsx.open(sys.argv[2])
run.parquet("parquet")
nread = 0
for i, (name, table) in enumerate(run.tables.items()):
    capsule = table.__arrow_c_stream__()
    del capsule  # a stream that nobody takes
    capsule = table.__arrow_c_stream__()
    stream = pointer(capsule, b"arrow_array_stream")
    assert not duckdb.duckdb_arrow_scan(connection, b"table%d" % i, stream), name
    for names, rows in (read(f"table{i}"), read(f"'parquet/{name}.parquet'")):
        wanted = [[c for key, c in row.items()] for row in table]
        keep = [k for k, key in enumerate(table.columns) if len(names) == len(table.columns) or key in names]
        assert len(rows) == len(wanted), (name, len(rows), len(wanted))
        assert len(keep) == len(names), (name, names, list(table.columns))
        for ours, theirs in zip(wanted, rows):
            assert all(same(ours[k], cell) for k, cell in zip(keep, theirs)), (name, ours, theirs)
            nread += len(theirs)
assert nread > 1000, nread
del capsule, run, table
assert not nsx._streams
