# Turns text files into a C table of {name, text}: the struct `type` of `header`,
# in the array `table` with `count` entries. The name of a file is its path
# without the parts that the expressions `before` and `after` match.
FNR == 1 {
	name = FILENAME
	sub(before, "", name)
	sub(after, "", name)
	names[++n] = name
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	text[n] = text[n] "\n\t\"" $0 "\\n\""
}
END {
	printf "#include \"%s\"\n", header
	printf "const struct %s %s[] = {\n", type, table
	for (i = 1; i <= n; i++)
		printf "{\"%s\",%s},\n", names[i], text[i]
	print "\t{0, 0}\n};"
	printf "const unsigned %s = %d;\n", count, n
}
