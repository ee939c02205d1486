# Turns the files of the skill into a C table of {name, text}; the name is what
# stands behind skill/ in the path.
FNR == 1 {
	name = FILENAME
	sub(/^.*\/skill\//, "", name)
	names[++n] = name
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	text[n] = text[n] "\n\t\"" $0 "\\n\""
}
END {
	print "#include \"agent/skill.h\""
	print "const struct nsx_skill_file nsx_skill_files[] = {"
	for (i = 1; i <= n; i++)
		printf "{\"%s\",%s},\n", names[i], text[i]
	print "};"
	printf "const unsigned nsx_nskill_files = %d;\n", n
}
