#!/bin/sh
# The files of examples/ci are checked as GitHub and GitLab check them, and all their shell lines are run
# unchanged, with stand-ins for nsys, gh, curl, jq, apt-get and sudo, and for make, which only looks
# whether there is something to do.
# usage: ci_examples.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
python=
for p in python3 /usr/bin/python3; do
	if "$p" -c 'import yaml' 2>/dev/null; then python=$p; break; fi
done
[ -n "$python" ] || { skipped 'no python3 with yaml (python3-yaml)'; exit; }
for kind in github gitlab; do
	holds "$kind: the file" "$python" "$tests/ci.py" $kind "$root/examples/ci/$kind-diff.yml" .
done
# The checks notice what makes an example fail.
refused() { # KIND WHY SED_SCRIPT: a changed copy must be refused for that reason
	sed "$3" "$root/examples/ci/$1-diff.yml" >changed.yml; mkdir -p changed
	if ! cmp -s changed.yml "$root/examples/ci/$1-diff.yml" && ! "$python" "$tests/ci.py" "$1" changed.yml changed >out 2>&1 &&
		grep -q "$2" out; then ok; else bad "$1 changed by $3: $(cat out)"; fi
}
refused github 'no earlier step sets' 's/id: compare/id: other/'
refused github 'no earlier step sets' 's/echo "code=/echo "rc=/'
refused github 'does not need' '/needs: traces/d'
refused github 'which is no job' 's/needs: traces/needs: trace/'
refused github 'may not comment' 's/pull-requests: write/pull-requests: read/'
refused github 'fails on a fork' '/head.repo.full_name/d'
refused github 'which nobody sets' '/PR: /d'
refused github 'names no version' 's/checkout@v4/checkout/'
refused github 'is no shell script' 's/^          done/          don/'
refused gitlab 'shallow clone' 's/GIT_DEPTH: 0/GIT_DEPTH: 20/'
refused gitlab 'which is no job' 's/needs: .traces./needs: [trace]/'
refused gitlab 'whatever image' '/image:/d'
refused gitlab 'does not write' 's/junit: junit.xml/junit: j.xml/'
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
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
printf '#!/bin/sh\necho apt-get "$@" >>calls\n' >bin/apt-get
printf '#!/bin/sh\nexec %s -n "$@" >>made\n' "$(command -v make)" >bin/make
ln -s "$tests/capture/fake-nsys.sh" bin/nsys
chmod +x bin/sudo bin/apt-get bin/make bin/gh bin/curl bin/jq
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
# The source of both examples is a commit of this tree, so it can be cloned, and has what they make.
mkdir source && (cd "$root" && cp -r Makefile tests src include examples python docs README.md "$work/source") 2>/dev/null
(cd source && git init -q && git add -A && git -c user.name=n -c user.email=e commit -qm all) || bad 'no source'
run() { # SCRIPT: as both services do
	bash -eo pipefail "$1" >log 2>&1
}
for script in github.install gitlab.performance-diff.before_script; do
	rm -rf nsys-explain made
	if SOURCE=$work/source NSYS_EXPLAIN_SOURCE=$work/source run $script.sh && grep -q 'install -D' made; then ok; else bad "$script"; tail -n 5 log; fi
done
if grep -qx 'apt-get install -y -qq git make curl jq' calls; then ok; else bad 'gitlab: an image without tools'; fi

# Base and head are captured by turns, each at its own commit.
mkdir program
git init -q program && cd program || exit 1
commit() { echo "echo $1 >>../trained" >train.py; git add train.py; git -c user.name=n -c user.email=e commit -qm "$1"; git rev-parse HEAD; }
base=$(commit base); head=$(commit head)
# shellcheck disable=SC2016 # the script expands it
printf '#!/bin/sh\nexec sh "$1"\n' >../bin/python; chmod +x ../bin/python
for script in github.capture gitlab.traces.script; do
	rm -rf before* after* ../trained
	if FAKE_SQLITE=$fix/synthetic.sqlite BASE=$base HEAD=$head CI_MERGE_REQUEST_DIFF_BASE_SHA=$base CI_COMMIT_SHA=$head run "../$script.sh" &&
		[ "$(echo before*.nsys-rep after*.nsys-rep)" = 'before1.nsys-rep before2.nsys-rep before3.nsys-rep after1.nsys-rep after2.nsys-rep after3.nsys-rep' ] &&
		[ "$(tr '\n' ' ' <../trained)" = 'base head base head base head ' ]; then ok; else bad "$script: $(ls) $(cat ../trained)"; tail -n 5 log; fi
done
cd ..
rm -rf program calls

sides diff_one_more; : >existing
if run github.compare.sh && grep -qx code=1 output && grep -q '^::error title=gate step' log; then ok; else bad "compare: a regression"; cat log; fi
if [ "$(head -n 1 comment.md)" = '<!-- nsys-explain diff -->' ] && [ -f diff-report/diff.json ]; then ok; else bad "compare: no comment or report"; fi
if grep -q 'step:+3%.*fail' comment.md && cmp -s comment.md summary; then ok; else bad "compare: no gate in the comment, or no summary"; fi
run github.comment.sh
if grep -qx 'api repos/o/r/issues/7/comments -F body=@comment.md' calls; then ok; else bad "comment: none made"; cat log; fi
echo 42 >existing; rm -f calls; run github.comment.sh
if grep -qx 'api -X PATCH repos/o/r/issues/comments/42 -F body=@comment.md' calls; then ok; else bad "comment: not edited"; cat log; fi
sides diff_renamed
if run github.compare.sh && grep -qx code=0 output; then ok; else bad "compare: no change"; cat log; fi

sides diff_one_more; : >existing
run gitlab.performance-diff.script.sh; rc=$?
if [ $rc = 1 ] && grep -q '<failure>' junit.xml && grep -q '"severity": "major"' gl-code-quality-report.json &&
	grep -q -- '-X POST .*comment.md u/projects/1/merge_requests/2/notes' calls; then ok; else bad "gitlab: exit $rc"; cat log; fi
sides diff_renamed; echo 9 >existing
run gitlab.performance-diff.script.sh; rc=$?
if [ $rc = 0 ] && grep -q -- '-X PUT .*/notes/9' calls; then ok; else bad "gitlab: exit $rc"; cat log; fi
rm -f calls; NOTE_TOKEN='' run gitlab.performance-diff.script.sh; rc=$?
if [ $rc = 0 ] && [ ! -e calls ]; then ok; else bad "gitlab without a token: exit $rc"; cat log; fi
for code in 0 1; do
	CODE=$code run github.gate.sh; rc=$?
	if [ $rc = $code ]; then ok; else bad "gate: exit $rc, not $code"; fi
done
finish
