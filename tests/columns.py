"""columns.py SRC: checks that a row is indexed by the ids of one list of columns only.

Ids are enumerators, and C accepts any of them as an index. In each function the ids that index a
row must have a list in common, and so must those of one nsx_md_table or nsx_table_sort.
"""
import pathlib, re, sys

src = pathlib.Path(sys.argv[1])
LIST = re.compile(r"#define (\w+)\(X[^)]*\)((?:[^\n]*\\\n)*[^\n]*)")
TAKEN = re.compile(r"\b(\w+)\s*=\s*nsx_(?:add_)?row(?:_at)?\(")
INDEX = re.compile(r"\b(\w+)\[([A-Z][A-Z0-9_]+)\]")
CALL = re.compile(r"\bnsx_(?:md_table|table_sort)\(([^;]*)\);")


def lists_of(text):
    """Every list of columns with its ids. A list that includes another has its ids, too."""
    found = {name: (set(re.findall(r"\bX\((\w+),", body)), body)
             for name, body in LIST.findall(text) if "X(" in body}
    return {name: ids.union(*(found[n][0] for n in re.findall(r"\b(\w+)\(X", body)
                              if n in found))
            for name, (ids, body) in found.items()}


texts = {p: p.read_text() for p in sorted(src.rglob("*.[ch]"))}
shared = "\n".join(t for p, t in texts.items() if p.suffix == ".h")
bad = checked = 0


def check(path, what, ids, lists):
    global bad, checked
    having = [set(n for n, l in lists.items() if i in l) for i in ids]
    having = [h for h in having if h]
    checked += len(having)
    if having and not set.intersection(*having):
        bad += 1
        print(f"{path}: {what} is indexed by ids of several lists: {', '.join(sorted(ids))}")


for path, text in texts.items():
    if path.suffix != ".c":
        continue
    lists = lists_of(shared + "\n" + text)
    for function in re.split(r"^\{$", text, flags=re.M)[1:]:
        function = re.split(r"^\}", function, flags=re.M)[0]
        used = {}
        for m in re.finditer(f"{TAKEN.pattern}|{INDEX.pattern}", function):
            if m[1]:
                check(path, m[1], used.pop(m[1], set()), lists)
            else:
                used.setdefault(m[2], set()).add(m[3])
        for row, ids in used.items():
            check(path, row, ids, lists)
        for call in CALL.findall(function):
            check(path, "a table", set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", call)) - {"NSX_DESC"}, lists)
print(f"columns: {checked} ids, {bad} of another list")
sys.exit(bad > 0)
