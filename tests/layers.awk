# Checks the code's structure. The folders of src/ have an order: a file may include headers of its
# own folder and of folders left of it. An #include names the folder. No header includes itself
# through others. No function has more than 60 lines. Only base/ may call qsort(), which must not
# get NULL; nsx_sort() may.
# usage: find src -name '*.[ch]' | xargs awk -f layers.awk
BEGIN {
	n = split("base sqlite nsysrep schema trace facts report detect passes emit " \
		"fleet diff api agent convert capture doctor cli", order)
	for (i = 1; i <= n; i++)
		rank[order[i]] = i
}
FNR == 1 {
	split(FILENAME, part, "/")
	mine = part[3] == "" ? n + 1 : rank[part[2]]
	if (!mine)
		complain("the folder '" part[2] "' is not in the order")
}
/^[ \t]*#[ \t]*include[ \t]+"/ {
	split($0, quoted, "\"")
	folder = quoted[2]
	if (!sub(/\/.*/, "", folder))
		complain("'" quoted[2] "' is named without its folder")
	else if (!rank[folder])
		complain("the folder '" folder "' is not in the order")
	else if (rank[folder] > mine)
		complain("includes '" quoted[2] "', which stands above it")
	else if (FILENAME ~ /h$/)
		includes[FILENAME] = includes[FILENAME] " src/" quoted[2]
}
mine > 1 && /(^|[^a-z_])qsort(_r)?\(/ {
	complain("qsort() instead of nsx_sort()")
}
/^\{/ { opened = FNR }
/^\}/ {
	if (opened && FNR - opened - 1 > 60)
		complain("a function of " FNR - opened - 1 " lines")
	opened = 0
}
function complain(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what
	bad = 1
}
# Removes headers that include no remaining header, until nothing changes. The headers that remain
# are those of a circle, and those that include one.
END {
	do {
		gone = 0
		for (header in includes) {
			m = split(includes[header], of, " ")
			for (i = 1; i <= m && !(of[i] in includes); i++)
				;
			if (i > m) {
				delete includes[header]
				gone = 1
			}
		}
	} while (gone)
	for (header in includes) {
		printf "%s: is in a circle of headers, or above one\n", header
		bad = 1
	}
	exit bad
}
