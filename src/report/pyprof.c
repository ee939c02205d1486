/* pyprof.c - reads PyProf's range names: Python dictionaries of calls and files. */
#include "report/text.h"

static const char call[] = "{'mod': '", stack[] = "{'traceMarker': [";

/* Length of the dictionary at s, including nested ones. */
static size_t dictionary_length(const char *s)
{
	size_t i = 0;
	int depth = 0;

	do
		depth += (s[i] == '{') - (s[i] == '}');
	while (s[i++] && depth);
	return s[i - 1] ? i : i - 1;
}

bool nsx_pyprof_call(const char *name, struct nsx_pyprof_call *ret)
{
	static const char between[] = "', 'op': '";
	const char *mod = name + strlen(call), *end, *op;

	if (strncmp(name, call, strlen(call)) || !(end = strstr(mod, between)))
		return false;
	op = end + strlen(between);
	ret->args = strchr(op, '\'');
	if (!ret->args)
		return false;
	ret->mod = mod;
	ret->mod_size = (int)(end - mod);
	ret->op = op;
	ret->op_size = (int)(ret->args - op);
	return true;
}

/* Turns "{'mod': 'Tensor', 'op': 'cuda', 'args': [{... 'shape': (6, 3)}]}" into
 * "Tensor.cuda((6, 3))"; false for another dictionary.
 */
static bool pyprof_add_call(struct nsx_buf *b, const char *s, size_t n)
{
	static const char *const keys[] = {"'dtype': '", "'shape': ", "'value': "};
	struct nsx_pyprof_call c;
	const char *between = "(";

	if (!nsx_pyprof_call(s, &c))
		return false;
	nsx_buf_printf(b, "%.*s.%.*s", c.mod_size, c.mod, c.op_size, c.op);
	for (const char *p = c.args; p < s + n; p++)
		for (unsigned k = 0; k < ARRAY_LEN(keys); k++)
			if (!strncmp(p, keys[k], strlen(keys[k]))) {
				p += strlen(keys[k]);
				nsx_buf_adds(b, k ? between : " ");
				between = ", ";
				nsx_buf_add(b, p, strcspn(p, !k ? "'" : *p == '(' ? ")" : ",}"));
				nsx_buf_adds(b, k && *p == '(' ? ")" : "");
			}
	nsx_buf_adds(b, *between == '(' ? "()" : ")");
	return true;
}

/* Turns "{'traceMarker': ['/a/net.py:34', ...]}" into "net.py:34 > 97 > conv.py:435": the
 * lines of files that no package manager installed, and the innermost line.
 */
static bool pyprof_add_stack(struct nsx_buf *b, const char *s, size_t n)
{
	const char *p = s, *last = "", *end;
	size_t of_last = 0;

	if (strncmp(s, stack, strlen(stack)) || !(end = memchr(s, ']', n)))
		return false;
	for (p += strlen(stack) + 1; p < end;) {
		size_t whole = strcspn(p, "'"), file, line;
		const char *next = p + whole + strspn(p + whole, "', ");
		const char *slash = memrchr(p, '/', whole);
		bool is_own = !memmem(p, whole, "-packages/", 10);

		slash = slash ? slash + 1 : p;
		file = strcspn(slash, ":'");
		line = whole - (size_t)(slash - p) - file;
		if ((is_own || next >= end) && file && line) {
			bool same = of_last == file && !memcmp(last, slash, file);

			nsx_buf_adds(b, of_last ? " > " : "");
			nsx_buf_add(b, slash + (same ? file + 1 : 0),
				    same ? line - 1 : file + line);
			last = slash;
			of_last = file;
		}
		p = next;
	}
	return of_last;
}

const char *nsx_text_range(struct nsx_arena *a, const char *name)
{
	struct nsx_buf b = {0};

	if (!strstr(name, call) && !strstr(name, stack))
		return name;
	for (size_t n; *name; name += n) {
		n = *name == '{' ? dictionary_length(name) : 1;
		if (*name != '{' ||
		    (!pyprof_add_call(&b, name, n) && !pyprof_add_stack(&b, name, n)))
			nsx_buf_add(&b, name, n);
	}
	return nsx_buf_keep(&b, a);
}
