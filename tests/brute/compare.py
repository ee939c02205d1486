"""Compares brute-force rows and values with the files of a report folder."""

import csv
import json
import os

from value import Choice

ABSOLUTE, RELATIVE = 1e-6, 1e-9
csv.field_size_limit(1 << 30)


def cell(text):
    """A CSV cell as a value: None if empty, a bool, an integer, a float, or a Text."""
    if text == "":
        return None
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Text(str):
    """A CSV cell that is not converted, because a name may look like a number."""


def same(program, brute, tolerance=None):
    number = lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)
    if number(program) and number(brute):
        if isinstance(brute, int) and tolerance is None:
            return program == brute
        limit = max(ABSOLUTE if tolerance is None else tolerance,
                    RELATIVE * max(abs(program), abs(brute)))
        return abs(program - brute) <= limit
    if isinstance(program, bool) or isinstance(brute, bool):
        return program is brute
    return program == brute


def cut(text, width=90):
    text = "".join(c if c.isprintable() else "?" for c in str(text))
    return text if len(text) <= width else text[:width // 2] + "..." + text[3 - width // 2:]


class Report:
    """A report folder, with the numbers of figures that were equal and different."""

    def __init__(self, folder, per_column=None):
        self.folder, self.per_column = folder, per_column
        self.compared = self.differ = 0
        self.shown, self.lines = {}, []
        self.missing = set()
        try:
            with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
                self.json = json.load(f)
        except (OSError, ValueError) as e:
            self.json = None
            self.fail("report.json", "", f"cannot be read: {e}")

    def fail(self, where, column, text):
        self.compared += 1
        self.differ += 1
        n = self.shown[where, column] = self.shown.get((where, column), 0) + 1
        if self.per_column is None or n <= self.per_column:
            self.lines.append(where + ("" if text.startswith("/") else ": ") + text)

    def hidden(self):
        if self.per_column is None:
            return []
        return [f"{w} {c}: {n - self.per_column} more"
                for (w, c), n in self.shown.items() if n > self.per_column]

    def value(self, where, key, column, program, brute):
        """Compares one figure; brute may be a Choice."""
        choice = brute if isinstance(brute, Choice) else Choice(brute)
        if isinstance(program, Text):
            program = str(program) if isinstance(choice.value, str) else cell(program)
        if any(same(program, v, choice.tolerance) for v in [choice.value] + choice.also):
            self.compared += 1
            return
        known = [label for label, v in choice.other.items() if same(program, v)]
        hint = f" (the program's is: {', '.join(known)})" if known else ""
        at = f"{cut(key)} {column}".strip()
        self.fail(where, column, f"/{at}: program {program}, brute force {choice.value}{hint}")

    # ---- finding things -------------------------------------------------

    def table(self, name):
        """Rows of tables/name as dicts. None if the file is missing, which is reported once."""
        try:
            with open(os.path.join(self.folder, "tables", name), newline="", encoding="utf-8") as f:
                rows = list(csv.reader(f))
        except OSError:
            if name not in self.missing:
                self.missing.add(name)
                self.fail(name, "", "the file is missing")
            return None
        if not rows:
            self.fail(name, "", "no header")
            return None
        return [dict(zip(rows[0], map(Text, r))) for r in rows[1:]]

    def typed(self, name):
        """Rows of tables/name with their cells as values."""
        rows = self.table(name)
        return None if rows is None else [{k: cell(v) for k, v in r.items()} for r in rows]

    def at(self, path):
        """The JSON value at a dotted path under metrics, or None."""
        node = (self.json or {}).get("metrics", {}) if not path.startswith("/") else self.json
        for part in path.strip("/").split("."):
            node = node.get(part) if isinstance(node, dict) else None
        return node

    # ---- comparing ------------------------------------------------------

    def rows(self, where, program, brute, keys, subset=False, optional=()):
        """Compares rows with equal keys. Several rows of one key are matched in order of values.

        subset: the program may show fewer rows (a top N), but no others.
        optional: columns that are compared only if the program's rows have them.
        """
        if program is None:
            if brute and not where.endswith(".csv"):
                self.fail(where, "", f"absent, brute force has {len(brute)} rows")
            return
        if not isinstance(program, list) or not all(isinstance(r, dict) for r in program):
            self.fail(where, "", "is not a list of rows")
            return
        if not program and not brute:
            return
        if subset:
            if brute and not program:
                self.fail(where, "rows", f"/rows: program 0, brute force {len(brute)}")
        else:
            self.value(where, "", "rows", len(program), len(brute))
        key = lambda r: tuple("" if r.get(k) is None else str(r[k]) for k in keys)
        mine, theirs = {}, {}
        for r in brute:
            mine.setdefault(key(r), []).append(r)
        for r in program:
            theirs.setdefault(key(r), []).append(r)
        for k in theirs:
            if k not in mine:
                self.fail(where, "row", f"/{cut(k)}: program has this row, brute force does not")
        for k, ours in mine.items():
            got = theirs.get(k, [])
            if not got and not subset:
                self.fail(where, "row",
                          f"/{cut(k)}: brute force has this row, the program does not")
            order = lambda r: [rank_of(r.get(c)) for c in sorted(ours[0])]
            if len(ours) > 1:
                ours, got = sorted(ours, key=order), sorted(got, key=order)
            for a, b in zip(got, ours):
                for column, figure in b.items():
                    if column in keys or column in optional and column not in a:
                        continue
                    if column not in a:
                        self.fail(where, column,
                                  f"/{cut(k)} {column}: the program has no such column")
                    else:
                        self.value(where, k, column, a[column], figure)

    def scalars(self, path, brute, optional=()):
        """Compares a dict of figures below a JSON path; a dot in a key goes one level deeper."""
        for key, figure in brute.items():
            full = path.rstrip(".") + "." + key if path not in ("/", "") else path + key
            got = self.at(full)
            if got is None and key in optional:
                continue
            self.value(path.strip("/") or "report.json", "", key, got, figure)


def rank_of(v):
    """A sort key for cells of any type, the same for cells of the report and of brute force."""
    v = v.value if isinstance(v, Choice) else v
    v = cell(v) if isinstance(v, Text) else v
    return (0, float(v), "") if isinstance(v, (int, float)) else (1, 0.0, str(v or ""))
