"""Explains a trace of NVIDIA Nsight Systems.

    import nsx
    run = nsx.open("run.nsys-rep")
    run.verdict                        # "Compute-bound: 47 % compute, ..."
    run.findings                       # a table, costliest first
    run.tables["top_kernels.kernels"].pandas()
    nsx.diff("before.nsys-rep", "after.nsys-rep").verdict
    nsx.fleet(["rank0.nsys-rep", "rank1.nsys-rep"]).tables["findings"]

All work is done by the C library libnsx, which is part of the package; nothing else is needed.
pandas, polars and pyarrow are used if they are installed.
"""
import ctypes as C
import difflib
import html
import json
import os
from collections.abc import Mapping, Sequence

__all__ = ["open", "diff", "fleet", "Report", "Several", "Table", "Error", "version"]


class _Problem(C.Structure):
    _fields_ = [("code", C.c_int), ("text", C.c_char * 1024)]


class _Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("threads", C.c_uint), ("window", C.c_char_p),
                ("only", C.c_char_p), ("what_if", C.POINTER(C.c_char_p)),
                ("model", C.c_char_p), ("steps_from", C.c_char_p), ("kernel_classes", C.c_char_p)]


def _library():
    lib = C.CDLL(os.environ.get("NSX_LIBRARY") or
                 os.path.join(os.path.dirname(os.path.abspath(__file__)), "libnsx.so.0"))
    p, s, n, i = C.c_void_p, C.c_char_p, C.c_size_t, C.c_int
    problem = C.POINTER(_Problem)
    for name, result, arguments in (
            ("version", s, []),
            ("export_open", i, [s, C.POINTER(p), problem]),
            ("export_close", None, [p]),
            ("load", i, [p, C.POINTER(_Options), C.POINTER(p), problem]),
            ("result_free", None, [p]),
            ("result_document", i, [p, i, C.POINTER(s), problem]),
            ("result_warning", s, [p, n]),
            ("result_section", s, [p, n]),
            ("result_reason", s, [p, s]),
            ("result_table", p, [p, s, n]),
            ("result_write", i, [p, s, problem]),
            ("several_diff", i, [C.POINTER(s), C.POINTER(s), s, C.c_uint, C.POINTER(p), problem]),
            ("several_fleet", i, [C.POINTER(s), C.c_uint, C.POINTER(p), problem]),
            ("several_document", i, [p, i, C.POINTER(s), problem]),
            ("several_table", p, [p, n]),
            ("several_free", None, [p]),
            ("rows_key", s, [p]),
            ("rows_count", n, [p]),
            ("rows_name", s, [p, i]),
            ("rows_help", s, [p, i]),
            ("rows_type", i, [p, n, i]),
            ("rows_int", C.c_int64, [p, n, i]),
            ("rows_real", C.c_double, [p, n, i]),
            ("rows_text", s, [p, n, i]),
            ("rows_bool", C.c_bool, [p, n, i]),
            ("rows_parquet", i, [p, s, problem]),
            ("rows_arrow", None, [p, p])):
        f = getattr(lib, "nsx_" + name)
        f.restype, f.argtypes = result, arguments
    return lib


_lib = _library()
version = _lib.nsx_version().decode()


class Error(Exception):
    """An error of libnsx: what failed, on what, why, and what to do. `code` is from nsx/error.h."""

    def __init__(self, problem):
        super().__init__(problem.text.decode(errors="replace"))
        self.code = problem.code


def _call(function, *arguments):
    problem = _Problem()
    if function(*arguments, C.byref(problem)):
        raise Error(problem)


def _texts(function, *arguments):
    i = 0
    while True:
        text = function(*arguments, i)
        if text is None:
            return
        yield text.decode(errors="replace")
        i += 1


class _Stream(C.Structure):
    """ArrowArrayStream of Arrow's C interface."""
    _fields_ = [("get_schema", C.c_void_p), ("get_next", C.c_void_p), ("get_last_error", C.c_void_p),
                ("release", C.CFUNCTYPE(None, C.c_void_p)), ("private_data", C.c_void_p)]


_CAPSULE = b"arrow_array_stream"
_streams = {}  # by address, until their capsules end
_new_capsule = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(("PyCapsule_New", C.pythonapi))
_capsule_pointer = C.PYFUNCTYPE(C.c_void_p, C.c_void_p, C.c_char_p)(("PyCapsule_GetPointer", C.pythonapi))


@C.PYFUNCTYPE(None, C.c_void_p)
def _end_capsule(capsule):
    address = _capsule_pointer(capsule, _CAPSULE)
    stream = _streams.pop(address)
    if stream.release:  # whoever takes the stream clears this
        stream.release(address)


class Table(Sequence):
    """The rows of a table, as dicts. `columns` maps each column's name to its meaning."""

    def __init__(self, report, name, rows):
        self.name = name
        self._report, self._rows = report, rows  # the report owns the rows
        self.columns = dict(zip(_texts(_lib.nsx_rows_name, rows), _texts(_lib.nsx_rows_help, rows)))

    def _cell(self, row, c):
        rows = self._rows
        kind = _lib.nsx_rows_type(rows, row, c)
        if kind == 1:
            return _lib.nsx_rows_int(rows, row, c)
        if kind == 2:
            return _lib.nsx_rows_real(rows, row, c)
        if kind == 3:
            return _lib.nsx_rows_text(rows, row, c).decode(errors="replace")
        if kind == 4:
            return _lib.nsx_rows_bool(rows, row, c)
        return None

    def __len__(self):
        return _lib.nsx_rows_count(self._rows)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        row = i + len(self) if i < 0 else i
        if not 0 <= row < len(self):
            raise IndexError(i)
        return {name: self._cell(row, c) for c, name in enumerate(self.columns)}

    def dict(self):
        """Columns as lists."""
        return {name: [self._cell(row, c) for row in range(len(self))]
                for c, name in enumerate(self.columns)}

    def pandas(self):
        import pandas
        return pandas.DataFrame(self.dict(), columns=list(self.columns))

    def __arrow_c_stream__(self, requested_schema=None):
        """The rows for any library that reads Arrow; see "The Arrow PyCapsule Interface"."""
        stream = _Stream()
        _lib.nsx_rows_arrow(self._rows, C.addressof(stream))
        _streams[C.addressof(stream)] = stream
        return _new_capsule(C.addressof(stream), _CAPSULE, C.cast(_end_capsule, C.c_void_p))

    def polars(self):
        import polars
        return polars.from_arrow(self)

    def arrow(self):
        import pyarrow
        return pyarrow.table(self)

    def parquet(self, path):
        """Writes the rows as a Parquet file; replaces only one of its own."""
        _call(_lib.nsx_rows_parquet, self._rows, os.fsencode(path))

    def __repr__(self):
        return f"<nsx.Table {self.name}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self, most=30):
        def cells(tag, values):
            return "".join(f"<{tag}>{html.escape(v)}</{tag}>" for v in values)

        def text(value):
            return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

        head = "".join(f'<th title="{html.escape(h)}">{html.escape(n)}</th>' for n, h in self.columns.items())
        body = "".join(f"<tr>{cells('td', map(text, row.values()))}</tr>" for row in self[:most])
        more = f"<p>{most} of {len(self)} rows</p>" if len(self) > most else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class _Tables(Mapping):
    def __init__(self, tables):
        self._tables = tables

    def __getitem__(self, name):
        if name not in self._tables:
            near = difflib.get_close_matches(str(name), self._tables, 1, 0)
            raise KeyError(f"{name}; did you mean {near[0]}?" if near else name)
        return self._tables[name]

    def __iter__(self):
        return iter(self._tables)

    def __len__(self):
        return len(self._tables)

    def __repr__(self):
        return f"<nsx tables: {', '.join(self)}>"


def _list(texts):
    return (C.c_char_p * (len(texts) + 1))(*texts, None)


def _paths(paths):
    return _list([os.fsencode(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)])


class _Documents:
    """The base of Report and Several: texts, JSON and tables."""

    def _document(self, which):
        text = C.c_char_p()
        _call(self._read, self._handle, which, C.byref(text))
        return text.value.decode(errors="replace")

    @property
    def verdict(self):
        """One sentence as plain text; for the ranks of a job, the first page."""
        return self._document(0).replace("**", "").replace("`", "").strip()

    @property
    def json(self):
        """report.json, or diff.json, as a dict."""
        return json.loads(self._document(3))

    @property
    def markdown(self):
        """report.md, or diff.md."""
        return self._document(4)

    def parquet(self, folder):
        """Writes each table as NAME.parquet."""
        os.makedirs(folder, exist_ok=True)
        for name, table in self.tables.items():
            table.parquet(os.path.join(folder, name + ".parquet"))


class Several(_Documents):
    """What changed between captures, or which ranks of a job come late."""

    _read = _lib.nsx_several_document

    def __init__(self, make, *arguments):
        self._handle = C.c_void_p()
        _call(make, *arguments, C.byref(self._handle))
        tables, i = {}, 0
        while rows := _lib.nsx_several_table(self._handle, i):
            name = _lib.nsx_rows_key(rows).decode()
            tables[name] = Table(self, name, rows)
            i += 1
        self.tables = _Tables(tables)

    def __del__(self):
        _lib.nsx_several_free(self._handle)

    def __repr__(self):
        return f"<nsx.Several {self.verdict}>"

    def _repr_html_(self):
        return f"<pre>{html.escape(self.verdict)}</pre>"


class Report(_Documents):
    """What was found in one trace."""

    _read = _lib.nsx_result_document

    def __init__(self, path, threads, window, only, what_if, *engine):
        self.path = os.fspath(path)
        self._export, self._handle = C.c_void_p(), C.c_void_p()
        changes = _list([w.encode() for w in what_if])
        options = _Options(C.sizeof(_Options), threads, window and window.encode(),
                           ",".join(only).encode() if only else None, changes,
                           *(f and os.fsencode(f) for f in engine))
        _call(_lib.nsx_export_open, os.fsencode(path), C.byref(self._export))
        _call(_lib.nsx_load, self._export, C.byref(options), C.byref(self._handle))
        tables = {}
        for section in _texts(_lib.nsx_result_section, self._handle):
            i = 0
            while rows := _lib.nsx_result_table(self._handle, section.encode(), i):
                name = f"{section}.{_lib.nsx_rows_key(rows).decode()}"
                tables[name] = Table(self, name, rows)
                i += 1
        self.tables = _Tables(tables)

    def __del__(self):
        _lib.nsx_result_free(self._handle)
        _lib.nsx_export_close(self._export)

    @property
    def page(self):
        """The first page, as the command prints it."""
        return self._document(1)

    @property
    def brief(self):
        """The first page as a dict: verdict, findings, phases, steps."""
        return json.loads(self._document(2))

    @property
    def findings(self):
        """The table of findings (what costs time), costliest first."""
        return self.tables["findings.findings"]

    @property
    def warnings(self):
        """Warnings about what makes numbers uncertain."""
        return list(_texts(_lib.nsx_result_warning, self._handle))

    def reason(self, section):
        """Why a section could not be computed; None if it was."""
        text = _lib.nsx_result_reason(self._handle, section.encode())
        return None if text is None else text.decode(errors="replace")

    def write(self, folder):
        """Writes report.md, report.json, report.html and tables/."""
        _call(_lib.nsx_result_write, self._handle, os.fsencode(folder))

    def __repr__(self):
        return f"<nsx.Report {self.path}>"

    def _repr_html_(self):
        return f"<pre>{html.escape(self.page)}</pre>"


def open(path, *, threads=os.cpu_count() or 1, window=None, only=(), what_if=(),
         model=None, steps_from=None, kernel_classes=None):
    """Reads a report (.nsys-rep) or an export and explains it.

    window: the part to explain, as "2..5" in seconds. only: ids of the sections to
    compute; there is no first page then. what_if: changes to price, in the syntax of
    --what-if. model, steps_from, kernel_classes: files that describe the traced engine,
    as for --model, --steps-from and --kernel-classes.
    """
    return Report(path, threads, window, only, what_if, model, steps_from, kernel_classes)


def diff(before, after, *, threads=os.cpu_count() or 1, unit=None):
    """Compares captures before and after a change; a side is a path or a list of paths.

    unit: the repeated unit to compare, as "nvtx:REGEX", "kernel:REGEX", "launch" or "window".
    """
    return Several(_lib.nsx_several_diff, _paths(before), _paths(after), unit and unit.encode(), threads)


def fleet(paths, *, threads=os.cpu_count() or 1):
    """Explains the ranks of one job: traces, digests or folders of them."""
    return Several(_lib.nsx_several_fleet, _paths(paths), threads)
