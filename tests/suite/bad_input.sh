#!/bin/sh
# Input that is no export or cannot be read, and output that cannot be written. The program must
# print one line on stderr, end with the right exit code, create and delete nothing, and leave the
# input unchanged.
# usage: bad_input.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
good=$b/fixtures/synthetic.sqlite
want() { # NAME EXIT WORDS ARG...
	name=$1 code=$2 words=$3; shift 3
	before=$(find . -not -path './err' -not -path './out' | sort)
	"$prog" "$@" >out 2>err; rc=$?
	lines=$(wc -l <err)
	after=$(find . -not -path './err' -not -path './out' | sort)
	if [ $rc -eq "$code" ] && [ "$lines" -eq 1 ] && grep -q -- "$words" err && [ "$before" = "$after" ]; then ok
	else bad "$name: exit $rc (wanted $code), $lines lines:"; head -n 3 err; fi
}
: >empty.sqlite
echo "some words" >text.sqlite
head -c 300 /dev/urandom >noise.sqlite
head -c 8192 /dev/zero >zeros.sqlite
cp text.sqlite run.nsys-rep
cp text.sqlite run.qdrep
mkdir folder.sqlite
mkfifo pipe.sqlite
head -c 100 "$good" >header.sqlite
head -c 4096 "$good" >catalogue.sqlite
ln -s nowhere dangling.sqlite
sqlite3 other.sqlite 'CREATE TABLE t(x)'
sqlite3 void.sqlite 'CREATE TABLE t(x); DROP TABLE t'
want missing 3 'No such file' missing.sqlite --out o
want dangling 3 'No such file' dangling.sqlite --out o
want empty 3 'empty' empty.sqlite --out o
want text 3 'text file' text.sqlite --out o
want noise 3 'not a SQLite' noise.sqlite --out o
want zeros 3 'a binary file' zeros.sqlite --out o
want capture 3 'nsys export --type sqlite' run.nsys-rep --out o
want old_capture 3 'nsys export --type sqlite' run.qdrep --out o
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 123\n' >lfs.nsys-rep
cp lfs.nsys-rep lfs.sqlite
printf '<!DOCTYPE html>\n<title>404</title>\n%0200d' 0 >page.nsys-rep
printf '/annex/objects/MD5E-s123--0.nsys-rep\n' >annex.nsys-rep
printf 'NVR\0%0200d' 0 >kernel.ncu-rep
printf '\211HDF\r\n\032\n%0200d' 0 >run.h5
printf 'PAR1%0200d' 0 >KERNEL.parquet
printf '{"Process": {"name": "a"}}\n' >run.jsonl
mkdir run_pqtdir run_arwdir; : >run_pqtdir/PROCESSES.parquet; : >run_arwdir/PROCESSES.arrow
sqlite3 rocpd.sqlite 'CREATE TABLE rocpd_kernel_dispatch_0a (id, start, end); CREATE TABLE rocpd_string_0a (id, string)'
sqlite3 nvprof.sqlite 'CREATE TABLE StringTable (_id_, value); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (_id_, start, end)'
want lfs 3 'pointer of Git LFS.*git lfs pull' lfs.sqlite --out o
want lfs_report 3 'pointer of Git LFS.*git lfs pull' lfs.nsys-rep --out o
printf '\050\265\057\375____' >packed.sqlite.zst
want zst 3 'zstd -d' packed.sqlite.zst --out o
tar -cf run.tar run.jsonl && cp run.tar run.nsys-rep
want tar 3 'tar -xf' run.tar --out o
want tar_as_report 3 'tar -xf' run.nsys-rep --out o
want page 3 'download it again' page.nsys-rep --out o
want annex 3 'git annex get' annex.nsys-rep --out o
want ncu 3 'nsys profile' kernel.ncu-rep --out o
want hdf 3 'HDF5; give the .nsys-rep, or export it' run.h5 --out o
want parquet 3 'Parquet; give' KERNEL.parquet --out o
want jsonlines 3 'jsonlines.*; give' run.jsonl --out o
want parquetdir 3 'parquetdir; give' run_pqtdir --out o
want arrowdir 3 'arrowdir; give' run_arwdir --out o
want rocpd 3 'rocprof' rocpd.sqlite --out o
want nvprof 3 'nvprof' nvprof.sqlite --out o
want folder 3 'folder' folder.sqlite --out o
want pipe 3 'not a regular file' pipe.sqlite --out o
want 'pipe, compared' 3 'not a regular file' diff pipe.sqlite "$good"
want 'pipe, of a fleet' 3 'not a regular file' digest pipe.sqlite --out o
# shellcheck disable=SC2016 # sh expands them
holds 'a pipe is left out of a fleet' sh -c 'timeout 60 "$0" fleet pipe.sqlite "$1" -q --out fleet 2>err; test $? -eq 4 && grep -q "not a regular file" err && rm -r fleet err' "$prog" "$good"
# If stdout is closed, no file that the program opens may receive its output.
# shellcheck disable=SC2016 # sh expands them
holds 'stdout is closed' sh -c '"$0" convert "$1" -o c.json >&- 2>err; test $? -eq 3 && python3 -m json.tool c.json >/dev/null && rm c.json err' "$prog" "$good"
want header 3 '' header.sqlite --out o
want catalogue 3 "'catalogue.sqlite': its list of tables .*export" catalogue.sqlite --out o
want other 3 'not an Nsight Systems export' other.sqlite --out o
want void 3 'empty database' void.sqlite --out o
want no_trace 2 'give the trace' --out o
want two_traces 2 "did you mean 'diff' or 'fleet'?" "$good" "$good" --out o
want misspelt_command 2 "unknown command 'explian'; did you mean 'explain'?" explian "$good"
want unknown_command 2 "unknown command 'zzz'; run" zzz "$good"
want unknown_help 2 "unknown command 'pases'; did you mean 'passes'?" help pases
want misspelt_activity 2 "no activity 'kernles'; did you mean 'kernels'?" convert "$good" --only nvtx,kernles -o o
want misspelt_group 2 "no activity 'countres'; did you mean 'counters'?" convert "$good" --only countres -o o
want misspelt_schema 2 "no schema 'reprot'; did you mean 'report'?" schema-json reprot
want misspelt_client 2 "no client 'cursr'; did you mean 'cursor'?" mcp --print-config cursr
want misspelt_shell 2 "no completion for 'fihs'; did you mean 'fish'?" completion fihs
want no_shell 2 'give one shell: bash, zsh or fish' completion
want no_such_option 2 "unknown option '--include-env'" "$good" --include-env
want bad_option 2 'unknown option' "$good" --outt o
want bad_number 2 'kernel-limit' "$good" --kernel-limit many
want bad_window 2 'window' "$good" --window 5 --out o
want bad_pass 2 'no analysis' "$good" --pass nothing --out o
want misspelt_pass 2 "no analysis 'idel'; did you mean 'gpu_idle'?" "$good" --pass idel --out o
want empty_pass 2 "no analysis ''" "$good" --pass '' --out o
want empty_skip 2 "no analysis ''" "$good" --skip '' --out o
want bad_map 2 'map.json' "$good" --phase-map map.json --out o
echo '{"a": ["re:("]}' >map2.json
want bad_regex 2 'map2.json' "$good" --phase-map map2.json --out o
mkdir mine; echo precious >mine/report.md
want not_ours 3 "'mine/report.md'" "$good" --out mine
[ "$(cat mine/report.md)" = precious ] || bad "a user's report.md lost"
echo x >file
want out_is_file 3 'not a folder' "$good" --out file
want out_leads_nowhere 3 'not a folder' "$good" --out dangling.sqlite
want out_below_file 3 '' "$good" --out file/o
# Root can read and write anything, so root runs these cases as the user nobody, on copies.
run='' user=$prog sound=$good
if [ "$(id -u)" -eq 0 ]; then
	run='setpriv --reuid=65534 --regid=65534 --clear-groups' user=$work/user sound=$work/sound.sqlite
	cp "$prog" user; cp "$good" sound.sqlite; chmod 755 . user
fi
prog=user_run
user_run() { $run "$user" "$@"; }
if user_run --version >/dev/null 2>&1; then
	cp "$good" locked.sqlite; chmod 0 locked.sqlite
	want locked 3 'Permission denied' locked.sqlite --out o
	mkdir readonly; chmod a-w readonly
	want readonly 3 'Permission denied' "$sound" --out readonly/o
else
	skip=$((skip + 2))
fi
prog=$b/nsys-explain
# If the output device is full, every command that prints fails with one line.
for args in --version --man help 'help explain' 'convert --help' passes doctor 'doctor --json' \
	"schema $good" "$good --json" "$good --md" "$good --explain gpu_idle"; do
	# shellcheck disable=SC2086
	"$prog" $args >/dev/full 2>err; rc=$?
	if [ $rc -eq 3 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'No space' err; then ok
	else bad "full stdout: $args: exit $rc"; head -n 3 err; fi
done
# If the reader of the output is gone, the program ends without a message.
for args in --man 'help explain' passes "schema $good" "$good --json" "$good --md" "$good --out piped" "ask $good findings --csv" \
	"diff $good $good --md" "convert $good -o -"; do
	# shellcheck disable=SC2086
	python3 -c 'import os, subprocess, sys
r, w = os.pipe()
os.close(r)
sys.exit(subprocess.run(sys.argv[1:], stdout=w, timeout=60).returncode)' "$prog" $args 2>err; rc=$?
	if [ $rc -eq 3 ] && [ ! -s err ]; then ok
	else bad "closed pipe: $args: exit $rc"; head -n 3 err; fi
done
rm -rf piped
want full_device 3 "'/dev/full': No space" convert "$good" -o /dev/full
# If a file exceeds the size that may be written, the message has its final name.
limited() { (ulimit -f 8; exec "$b/nsys-explain" "$@"); }
prog=limited
want no_room 3 "cannot write 'o/[a-z./_]*': File too large" "$good" --out o
prog=$b/nsys-explain
# With --json the failure is JSON on stdout, too.
"$prog" missing.sqlite --json >out 2>err
if python3 -c 'import json,sys; d=json.load(open("out")); sys.exit(0 if d["error"]["message"] and d["error"]["code"] else 1)'; then ok; else bad "JSON error"; fi
# A file in WAL mode, read-only, in a read-only folder: it is read and unchanged, and no file is made
# beside it.
mkdir wal; cp "$good" wal/t.sqlite
printf '\002\002' | dd of=wal/t.sqlite bs=1 seek=18 conv=notrunc 2>/dev/null
chmod a-w wal/t.sqlite; sum=$(cksum <wal/t.sqlite)
"$prog" wal/t.sqlite --out o -q 2>err; rc=$?
if [ $rc -eq 0 ] && [ "$(ls wal)" = t.sqlite ] && [ "$sum" = "$(cksum <wal/t.sqlite)" ]; then ok; else bad "wal: exit $rc"; cat err; fi
# A file that was cut, and one whose list of tables is damaged: the program reports on the rest and
# says what is missing.
partial() { # NAME FILE WORDS
	"$prog" "$2" --out part -q 2>err; rc=$?
	if [ $rc -eq 4 ] && grep -q -- "$3" part/report.json; then ok; else bad "$1: exit $rc"; cat err; fi
}
size=$(wc -c <"$good")
head -c $((size / 2)) "$good" >half.sqlite
partial half half.sqlite "the file is cut: $((size / 2)) of $size bytes"
sed 's/CREATE TABLE ThreadNames/CREATE TABEL ThreadNames/' "$good" >spelling.sqlite
partial spelling spelling.sqlite 'list of tables is damaged.*ThreadNames'
if cmp -s part/tables/kernels.csv o/tables/kernels.csv; then ok; else bad "spelling: other kernels"; fi
# A trace without any event is valid.
"$prog" "$b/fixtures/no_tables_2021.sqlite" --out n -q; rc=$?
if [ $rc -eq 0 ] && [ -s n/report.md ]; then ok; else bad "nothing: exit $rc"; fi
finish
