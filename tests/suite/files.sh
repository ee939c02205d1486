#!/bin/sh
# The program replaces its own files. It never writes, moves or removes a file of the user,
# whatever the folder contains and whenever the run is killed.
# usage: files.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
trace=$b/fixtures/synthetic.sqlite
other=$b/fixtures/one_kernel.sqlite
run() { "$prog" "$@" -q >out 2>err; }
exits() { want=$1; shift; run "$@"; rc=$?; [ $rc -eq "$want" ] || { echo "exit $rc, wanted $want"; cat err; return 1; }; }
refused() { name=$1; shift; exits 3 "$@" && [ "$(wc -l <err)" -eq 1 ] && grep -q -- "$name" err; }
# Prints every file except the record, with its checksum, in the form of the record.
listed() {
	python3 - "$1" <<'P'
import json, os, sys, zlib
d = sys.argv[1]
r = json.load(open(d + "/report.json"))
files = {f["path"]: f for f in r["files"]}
for path, f in files.items():
    data = open(f"{d}/{path}", "rb").read()
    assert (len(data), zlib.crc32(data)) == (f["size_bytes"], f["crc32"]), path
assert "report.md" in files and "tables/kernels.csv" in files, files.keys()
P
}
tidy() { [ -z "$(find "$1" -name '.nsys-explain-*')" ]; }
is_of() { grep -q "$(basename "$2")" "$1/report.json" && grep -q "$(basename "$2")" "$1/report.md"; }

# report.json lists the files, and a report replaces an older one.
holds 'first report' exits 0 "$trace" --out o
holds 'files are listed' listed o
rm -f o/tables/sync_by_pid.csv
holds 'ours is replaced' exits 0 "$other" --out o
holds '... whole' is_of o "$other"
holds '... and listed' listed o
holds '... nothing is left' tidy .

# An export is read whatever its name.
cp "$trace" misnamed.nsys-rep
holds 'an export with the name of a report' exits 0 misnamed.nsys-rep --out misnamed

# Files of the user in the same folder stay, even with --force.
mkdir run1; cp "$trace" run1/profile.sqlite; echo mine >run1/notes.txt; mkdir run1/sub; echo deep >run1/sub/x
before=$(cksum <run1/profile.sqlite)
for force in '' --force; do
	# shellcheck disable=SC2086
	holds "a report beside the trace $force" exits 0 run1/profile.sqlite --out run1 $force
	holds "... the trace stays $force" [ "$(cksum <run1/profile.sqlite)" = "$before" ]
	holds "... notes stay $force" [ "$(cat run1/notes.txt run1/sub/x | tr '\n' ' ')" = 'mine deep ' ]
	holds "... listed $force" listed run1
done
echo 1 >o/tables/mydata.csv
holds 'a table of the user' exits 0 "$trace" --out o
holds '... stays' grep -qx 1 o/tables/mydata.csv
holds '... with a new report' is_of o "$trace"

mkdir theirs; ln -s theirs link
holds 'a link to a folder' exits 0 "$trace" --out link
holds '... the report is in the folder' is_of theirs "$trace"
holds '... the link stays one' [ "$(readlink link)" = theirs ]

# Files of the user stay even if they have the names of ours.
mkdir u; echo words >u/report.md
holds 'a report.md of the user' refused "'u/report.md'" "$trace" --out u --force
holds '... stays alone' [ "$(ls -A u)$(cat u/report.md)" = report.mdwords ]
run "$trace" --out e; echo more >>e/report.md
holds 'ours, edited' refused "'e/report.md'" "$trace" --out e
run "$trace" --out j; sed -i "s/ms/MS/" j/report.json
holds 'the record, edited' refused "'j/report.json'" "$trace" --out j
mkdir t; echo x >t/tables
holds 'a file named tables' refused "'t/tables'" "$trace" --out t
mkdir l x; ln -s ../x l/tables
holds 'a link named tables' refused "'l/tables'" "$trace" --out l
mkdir s; ln -s ../o/report.md s/report.md
holds 'a link named report.md' refused "'s/report.md'" "$trace" --out s
mkdir f; mkfifo f/report.md
holds 'a pipe named report.md' refused "'f/report.md'" "$trace" --out f
mkdir d; mkdir d/report.json
holds 'a folder named report.json' refused "'d/report.json'" "$trace" --out d

# The input stays, even if names, links or the list of files point to it.
mkdir in; cp "$trace" in/report.json
holds 'the input named report.json' refused "'in/report.json'" in/report.json --out in
mkdir h; cp "$trace" h.sqlite; ln h.sqlite h/report.md
holds 'the input linked as report.md' refused "'h/report.md'" h.sqlite --out h
run "$trace" --out c; cp "$trace" c/t.sqlite
python3 - <<'P'
import json, zlib
r = json.load(open("c/report.json"))
data = open("c/t.sqlite", "rb").read()
r.pop("crc32")
r["files"].append({"path": "t.sqlite", "size_bytes": len(data), "crc32": zlib.crc32(data)})
r["files"].append({"path": "../h.sqlite", "size_bytes": len(data), "crc32": zlib.crc32(data)})
text = json.dumps(r, indent=2)[:-2]
open("c/report.json", "w").write(text + ',\n  "crc32": %d\n}\n' % zlib.crc32(text.encode()))
P
holds 'the input in the list' exits 0 c/t.sqlite --out c
holds '... stays' cmp c/t.sqlite "$trace"
holds '... and what lies outside' cmp h.sqlite "$trace"

# The output folder may be in different places.
holds 'parents are made' exits 0 "$trace" --out a/b/c/
holds '... and the report' listed a/b/c
mkdir here; cd here || exit 1
holds 'into an empty folder' exits 0 "$trace" --out .
holds '... again' exits 0 "$other" --out .
cd .. ; rm -f here/out here/err here/log
holds '... the newer one' is_of here "$other"
mkdir bare
holds 'no parents without a trace' exits 3 bare/none.sqlite --out bare/p/q
holds '... nothing made' [ -z "$(ls -A bare)" ]
holds 'no parents below a file' exits 3 "$trace" --out o/report.md/x
mkdir name; cd name || exit 1
holds 'without --out' exits 0 "$trace"
cd ..
holds '... the name of the trace' listed name/synthetic-report
holds 'the same bytes for one epoch' sh -c "SOURCE_DATE_EPOCH=1000000000 $prog $trace -q --out e1 &&
	SOURCE_DATE_EPOCH=1000000000 $prog $trace -q --out e2 && diff -r e1 e2 &&
	grep -q 2001-09-09T01:46:40Z e1/report.json"

# A report of 0.1.0 has no list of files; its fixed file names are taken for ours.
run "$trace" --out v
python3 - <<'P'
import json
r = json.load(open("v/report.json"))
r.pop("files"); r.pop("crc32")
json.dump(r, open("v/report.json", "w"), indent=2)
P
echo mine >v/tables/mydata.csv
holds 'a report of 0.1.0' exits 0 "$other" --out v
holds '... is replaced' is_of v "$other"
holds '... the user'\''s table stays' grep -qx mine v/tables/mydata.csv

# Output to one file, named with -o: an existing file that is not ours stays, and so do inputs.
stays() { # FILE COMMAND...: the command must refuse, and the file must be unchanged
	kept=$1; shift
	before=$(cksum <"$kept") && refused "'$kept'" "$@" && [ "$(cksum <"$kept")" = "$before" ] && tidy_file
}
tidy_file() { [ -z "$(find . -name '*.unfinished-*' -o -name '*.tmp-*')" ]; }
i=0; for name in before slower template; do i=$((i + 1)); cp "$b/fixtures/diff_$name.sqlite" "r$i.sqlite"; done
cp "$trace" in1.sqlite; echo mine >mine.nsxd; zstd -q mine.nsxd -o mine.nsxd.zst 2>/dev/null || echo mine >mine.nsxd.zst
echo '{"mine": 1}' >mine.json; ln -s nowhere dangling.nsxd; ln -s nowhere dangling.json; : >empty.nsxd
holds 'digest over its input' stays in1.sqlite digest in1.sqlite -o in1.sqlite
holds 'digest over a file of the user' stays mine.nsxd digest in1.sqlite -o mine.nsxd
holds 'digest over a compressed one' stays mine.nsxd.zst digest in1.sqlite -o mine.nsxd.zst
holds 'digest over a link to nothing' refused "'dangling.nsxd'" digest in1.sqlite -o dangling.nsxd
holds '... which stays' [ -L dangling.nsxd ]
holds 'conversion over a link to nothing' refused "'dangling.json'" convert in1.sqlite -o dangling.json
# Temporary files of a killed run are removed, but no file of the user, and none of a run that still
# works. In a container the next run may have the same process number.
same_number() { sh -c 'echo mine >l.json.unfinished-$$; exec "$@"' sh "$prog" convert "$trace" -q -o l.json; }
holds 'conversion' exits 0 convert "$trace" -o l.json
for n in 1 2-0; do head -c 300 l.json >l.json.unfinished-$n; done
: >l.json.unfinished-3
: >l.json.unfinished-notes
holds '... with the number of one that was killed' same_number
holds '... leaves an empty file with a word for a number' rm l.json.unfinished-notes
ls l.json.* >left
holds '... leaves what is not its own' [ "$(wc -l <left) $(cat "$(cat left)")" = '1 mine' ]
rm l.json.*; head -c 300 l.json >l.json.unfinished-4
exec 8<l.json.unfinished-4
flock 8
holds '... and what is locked' exits 0 convert "$trace" -o l.json
holds '... which is there' [ -s l.json.unfinished-4 ]
exec 8<&-
rm l.json.*
cp mine.nsxd in1.nsxd
holds 'digest under a name of its own choice' stays in1.nsxd digest in1.sqlite
for name in new.nsxd new.nsxd new.nsxd.zst new.nsxd.zst empty.nsxd; do
	holds "digest to $name" exits 0 digest in1.sqlite -o $name
done
holds 'merge over an input' stays new.nsxd fleet new.nsxd --partial new.nsxd
holds 'merge over a trace' stays in1.sqlite fleet new.nsxd --partial in1.sqlite
holds 'merge to a new name' exits 0 fleet new.nsxd --partial all.nsxd
holds '... and again' exits 0 fleet new.nsxd --partial all.nsxd
holds 'calibrate over a run' stays r1.sqlite diff --calibrate r1.sqlite r2.sqlite r3.sqlite -o r1.sqlite
holds 'calibrate over JSON of the user' stays mine.json diff --calibrate r1.sqlite r2.sqlite r3.sqlite -o mine.json
holds 'calibrate to a new name' exits 0 diff --calibrate r1.sqlite r2.sqlite r3.sqlite -o noise.json
holds '... and again' exits 0 diff --calibrate r1.sqlite r2.sqlite r3.sqlite -o noise.json

# The folders of the other commands follow the same rules.
for folder in 'fleet new.nsxd' 'diff r1.sqlite r2.sqlite'; do
	command=${folder%% *}; page=report.md; [ "$command" = diff ] && page=diff.md
	rm -rf g; mkdir g; echo words >g/$page; echo 1 >g/mine.csv
	# shellcheck disable=SC2086
	{
		holds "$command: a page of the user" refused "'g/$page'" $folder -o g
		holds "$command: ... stays alone" [ "$(printf '%s ' g/*)$(cat g/$page)" = "$(printf 'g/%s\n' mine.csv $page | sort | tr '\n' ' ')words" ]
		rm g/$page
		holds "$command: beside a file of the user" exits 0 $folder -o g
		holds "$command: again" exits 0 $folder -o g
		holds "$command: ... which stays" grep -qx 1 g/mine.csv
	}
done

# A folder that cannot be written gives an error.
as='' user=$prog
if [ "$(id -u)" -eq 0 ]; then
	as='setpriv --reuid=65534 --regid=65534 --clear-groups' user=$work/user
	cp "$prog" user; cp "$trace" sound.sqlite; chmod 755 . user; trace=$work/sound.sqlite
fi
if $as "$user" --version >/dev/null 2>&1; then
	mkdir ro; echo mine >ro/notes; chmod 755 ro
	[ -z "$as" ] || chown -R 65534 ro
	chmod a-w ro
	holds 'a read-only folder' sh -c "$as $user $trace --out ro 2>err; [ \$? -eq 3 ] && grep -q 'Permission denied' err"
	holds '... as it was' [ "$(ls -A ro)" = notes ]
else
	skip=$((skip + 2))
fi

# The program is killed at each rename and at some other calls. The user's files must be intact, and
# the next run must work and tidy up.
if strace -o /dev/null -e inject=write:error=EIO:when=9 true 2>/dev/null; then
	for kind in whole mixed; do
		for call in renameat2 rename mkdir unlinkat openat; do
			case $call in renameat2) step=2 ;; unlinkat) step=7 ;; openat) step=25 ;; *) step=1 ;; esac
			n=1 done=
			while [ -z "$done" ]; do
				rm -rf k; run "$other" --out k
				[ $kind = mixed ] && { echo mine >k/notes; echo 1 >k/tables/mine.csv; }
				strace -f -o strace.log -e trace=$call -e inject=$call:signal=KILL:when=$n \
					"$prog" "$trace" --threads 1 --out k -q >out 2>&1 && done=1
				[ $kind = mixed ] && holds "killed at $call $n: the user's" \
					[ "$(cat k/notes k/tables/mine.csv 2>&1 | tr '\n' ' ')" = 'mine 1 ' ]
				holds "killed at $call $n, $kind: the next run" exits 0 "$trace" --out k
				holds "killed at $call $n, $kind: whole" listed k
				holds "killed at $call $n, $kind: tidy" tidy .
				n=$((n + step))
			done
		done
	done
	# Another run tidies up between the making of a stage and its lock.
	(sleep 0.4; "$prog" "$other" --out tidier -q) &
	holds 'a stage that another run takes away' \
		strace -f -o strace.log -e trace=mkdir,mkdirat \
		-e inject=mkdir,mkdirat:delay_exit=1000000:when=2 \
		"$prog" "$other" --threads 1 --out taken -q
	wait
	holds '... is made again' listed taken
	holds '... tidy' tidy .
else
	part_skipped "strace is not here, or may not trace"
fi
finish
