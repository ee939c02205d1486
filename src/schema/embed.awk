# Turns queries/*.sql into a C table of {name, text}.
FNR == 1 {
	name = FILENAME
	sub(/^.*\//, "", name)
	sub(/\.sql$/, "", name)
	names[++n] = name
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	text[n] = text[n] "\n\t\"" $0 "\\n\""
}
END {
	print "#include \"schema/query.h\""
	print "const struct nsx_query nsx_queries[] = {"
	for (i = 1; i <= n; i++)
		printf "{\"%s\",%s},\n", names[i], text[i]
	print "\t{0, 0}\n};"
	printf "const unsigned nsx_nqueries = %d;\n", n
}
