#!/bin/sh
# Runs the shell lines of examples/ci unchanged, with stand-ins for gh, curl and jq.
# usage: ci_examples.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
# Prints a block of a YAML file: the lines that are indented more than the line ending in "|" that
# follows the line with NAME.
block() { # FILE NAME
	awk -v name="$2" '
	index($0, name) { found = 1 }
	in_block { match($0, /^ */); if (/[^ ]/ && RLENGTH <= indent) exit; print substr($0, inner + 1); next }
	found && /\|$/ { match($0, /^ */); indent = RLENGTH; in_block = 1
		getline; match($0, /^ */); inner = RLENGTH; print substr($0, inner + 1) }
	' "$1"
}
mkdir bin; ln -s "$b/nsys-explain" bin/nsys-explain
# The stand-ins answer a listing with what exists already, and record all other calls.
cat >bin/gh <<'X'
#!/bin/sh
case "$*" in *--jq*) cat existing ;; *) echo "$@" >>calls ;; esac
X
cat >bin/curl <<'X'
#!/bin/sh
case "$*" in *per_page*) cat existing ;; *) echo "$@" >>calls ;; esac
X
printf '#!/bin/sh\ncat\n' >bin/jq
chmod +x bin/*
PATH=$work/bin:$PATH GITHUB_OUTPUT=$work/output GITHUB_STEP_SUMMARY=$work/summary; export PATH GITHUB_OUTPUT GITHUB_STEP_SUMMARY
REPO=o/r PR=7 CI_API_V4_URL=u CI_PROJECT_ID=1 CI_MERGE_REQUEST_IID=2 NOTE_TOKEN=t
export REPO PR CI_API_V4_URL CI_PROJECT_ID CI_MERGE_REQUEST_IID NOTE_TOKEN
sides() { # AFTER: copies fixtures as the artifacts of the job `traces`
	rm -rf before*.nsys-rep after*.nsys-rep diff-report comment.md output calls
	for i in 1 2 3; do
		cp "$b/fixtures/diff_before.sqlite" before$i.nsys-rep
		cp "$b/fixtures/$1.sqlite" after$i.nsys-rep
	done
}
block "$root/examples/ci/github-diff.yml" 'name: compare' >compare.sh
block "$root/examples/ci/github-diff.yml" 'name: comment' >comment.sh
block "$root/examples/ci/gitlab-diff.yml" 'performance-diff:' >gitlab.sh

sides diff_one_more; : >existing
if bash -e compare.sh >log 2>&1 && grep -qx code=1 output && grep -q '^::error title=gate step' log; then ok; else bad "compare: a regression"; cat log; fi
if [ "$(head -n 1 comment.md)" = '<!-- nsys-explain diff -->' ] && [ -f diff-report/diff.json ]; then ok; else bad "compare: no comment or report"; fi
if grep -q 'step:+3%.*fail' comment.md && cmp -s comment.md summary; then ok; else bad "compare: no gate in the comment, or no summary"; fi
bash -e comment.sh >log 2>&1
if grep -qx 'api repos/o/r/issues/7/comments -F body=@comment.md' calls; then ok; else bad "comment: none made"; cat log; fi
echo 42 >existing; rm -f calls; bash -e comment.sh >log 2>&1
if grep -qx 'api -X PATCH repos/o/r/issues/comments/42 -F body=@comment.md' calls; then ok; else bad "comment: not edited"; cat log; fi
sides diff_renamed
if bash -e compare.sh >log 2>&1 && grep -qx code=0 output; then ok; else bad "compare: no change"; cat log; fi

sides diff_one_more; : >existing
bash -e gitlab.sh >log 2>&1; rc=$?
if [ $rc = 1 ] && grep -q '<failure>' junit.xml && grep -q '"severity": "major"' gl-code-quality-report.json &&
	grep -q -- '-X POST .*comment.md u/projects/1/merge_requests/2/notes' calls; then ok; else bad "gitlab: exit $rc"; cat log; fi
sides diff_renamed; echo 9 >existing
bash -e gitlab.sh >log 2>&1; rc=$?
if [ $rc = 0 ] && grep -q -- '-X PUT .*/notes/9' calls; then ok; else bad "gitlab: exit $rc"; cat log; fi
finish
