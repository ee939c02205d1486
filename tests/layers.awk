# The order of the folders of src/: each may include what stands left of it, and
# itself; a file names the folder of all that it includes.
# usage: find src -name '*.[ch]' | xargs awk -f layers.awk
BEGIN {
	n = split("base sqlite schema trace facts report detect passes emit " \
		"api fleet diff agent convert capture doctor cli", order)
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
}
function complain(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what
	bad = 1
}
END { exit bad }
