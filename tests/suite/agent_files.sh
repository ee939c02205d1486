#!/bin/bash
# The files that the program writes for agents, shells and people (the skill, the completions and
# the manual) name every command.
# usage: agent_files.sh BUILD_DIR
. "$(dirname "$0")/../suite.sh"
s=$work/skills/nsys-explain
holds 'the skill is written' "$prog" skill -o "$s"
holds 'its name is that of its folder' grep -qx 'name: nsys-explain' "$s/SKILL.md"
holds 'it is short' [ "$(cat "$s/SKILL.md" "$s"/references/*.md | wc -l)" -lt 300 ]
# shellcheck disable=SC2013
for f in $(grep -o 'references/[a-z-]*\.md' "$s/SKILL.md" | sort -u); do
	holds "$f is there" [ -s "$s/$f" ]
done
holds 'printed, it is the same' cmp <("$prog" skill) "$s/SKILL.md"
echo mine >"$s/SKILL.md"
holds "what is the user's stays" not "$prog" skill -o "$s"
holds "what is the user's is as it was" grep -qx mine "$s/SKILL.md"
# Commands and options that the skill names are there.
"$prog" skill >"$work/skill.md"
# shellcheck disable=SC2013
for c in $(cat "$work/skill.md" "$s"/references/*.md | grep -oE '^ *`?nsys-explain (ask|diff|fleet|capture|digest|doctor|schema)\b' |
	grep -oE '[a-z]+$' | sort -u); do
	holds "the command $c of the skill" "$prog" help "$c"
done
# shellcheck disable=SC2013
for q in $(grep -oE 'ask run\.sqlite [a-z-]+' "$work/skill.md" | sed 's/.* //' | sort -u); do
	holds "the question $q of the skill" grep -qE "^  $q( |\$)" <("$prog" ask 2>&1)
done

commands=$("$prog" --help | sed -n '/^commands:/,/^exit/s/^  \([a-z-]*\) .*/\1/p')
for shell in bash zsh fish; do
	"$prog" completion $shell >"$work/$shell"
	for c in $commands; do holds "$shell knows $c" grep -qw -- "$c" "$work/$shell"; done
	holds "$shell offers help" grep -qE "(words=\"|-a |')help[: ]" "$work/$shell"
	holds "$shell knows an option" grep -q -- 'kernel-limit' "$work/$shell"
	if command -v $shell >/dev/null; then holds "$shell reads it" $shell -n "$work/$shell"
	else part_skipped "$shell is not here"; fi
done
COMP_LINE='' COMP_POINT=0
complete_bash() { # WANT WORD...
	local want=$1; shift
	# shellcheck source=/dev/null
	(. "$work/bash"; COMP_WORDS=(nsys-explain "$@"); COMP_CWORD=$#; _nsys_explain; [ "${COMPREPLY[*]}" = "$want" ])
}
holds 'a command' complete_bash completion comp
holds 'an option' complete_bash --calibrate diff --ca
holds 'a question' complete_bash gaps ask x.sqlite ga
holds 'a shell' complete_bash zsh completion z
holds 'a schema' complete_bash brief schema-json bri
holds 'a preset' complete_bash nvlink capture --preset nvl
holds 'a word of an option' complete_bash tracks convert x.sqlite --gpu tr
holds 'a section' complete_bash top_kernels x.sqlite --pass top_
holds 'a section to explain' complete_bash top_kernels x.sqlite --explain top_
holds 'an activity' complete_bash kernels convert x.sqlite --only ker
holds 'a client' complete_bash cursor mcp --print-config cu
holds 'a section to ask for' complete_bash top_kernels ask x.sqlite section top_
holds 'a kind of finding' complete_bash top_kernel ask x.sqlite finding top_
holds 'a command to be helped with' complete_bash fleet help fl
holds 'a kind of step' complete_bash decode ask x.sqlite steps de
holds 'a value after =' complete_bash tracks convert x.sqlite --gpu = tr
holds 'values after =' complete_bash 'native tracks' convert x.sqlite --gpu =
# At a terminal bash takes the colon of a window for a word.
complete_line() { # WANT LINE WORD...
	COMP_LINE=$2 COMP_POINT=${#2}; local want=$1; shift 2; complete_bash "$want" "$@"
}
COMP_WORDBREAKS=' =:'
holds 'a window' complete_line decode 'nsys-explain x.sqlite --window step:de' x.sqlite --window step : de
holds '... after =' complete_line decode 'nsys-explain x.sqlite --window=step:de' x.sqlite --window = step : de
holds '... of a question' complete_line 'decode prefill mixed idle training' 'nsys-explain ask x.sqlite window step:' \
	ask x.sqlite window step :
COMP_WORDBREAKS=' '
holds '... where a colon ends no word' complete_line step:decode 'nsys-explain x.sqlite --window step:de' x.sqlite --window step:de
holds 'a question that is nearly one' sh -c "'$prog' ask x.sqlite fidnings 2>&1 | grep -q \"did you mean 'findings'\""
# In zsh only a terminal completes.
cp "$work/zsh" "$work/_nsys-explain"
touch "$work/x.sqlite"
complete_zsh() { # WANT LINE
	(cd "$work" && python3 - "$1" "$2") <<'P'
import os, pty, select, sys, time
want, line = sys.argv[1:]
pid, fd = pty.fork()
if not pid:
    os.environ.update(TERM="xterm", HOME=os.getcwd())
    os.execvp("zsh", ["zsh", "-f", "-i"])
def type_and_see(text, end):
    os.write(fd, text.encode())
    seen, until = b"", time.time() + 100
    while end.encode() not in seen and time.time() < until:
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 4096)
    return end.encode() in seen
ready = type_and_see("fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; echo rea''dy\n", "ready")
sys.exit(not (ready and type_and_see(line + "\t", want)))
P
}
complete_fish() { # WANT LINE
	fish --no-config -c "source $work/fish; complete -C '$2'" | grep -q -- "^$1"
}
for shell in zsh fish; do
	command -v $shell >/dev/null || continue
	if [ $shell = zsh ] && ! python3 -c 'import os; os.openpty()' 2>/dev/null; then
		echo "skipped: zsh's completion (no terminals can be made here: /dev/pts)"; skip=$((skip + 1)); continue
	fi
	whole() { if [ "$shell" = zsh ]; then complete_zsh "$2" "$3"; else complete_fish "$1" "$3"; fi; }
	holds "$shell: a command" whole completion etion 'nsys-explain compl'
	holds "$shell: help" whole help lp 'nsys-explain he'
	holds "$shell: an option" whole --calibrate brate 'nsys-explain diff --cali'
	holds "$shell: an option of the default command" whole --kernel-limit imit 'nsys-explain --kernel-l'
	holds "$shell: a question" whole gaps ps 'nsys-explain ask x.sqlite ga'
	holds "$shell: a section to ask for" whole top_kernels kernels 'nsys-explain ask x.sqlite section top_'
	holds "$shell: a command to be helped with" whole fleet eet 'nsys-explain help fl'
	holds "$shell: a kind of step" whole decode code 'nsys-explain ask x.sqlite steps de'
	holds "$shell: a window" whole step:decode code 'nsys-explain x.sqlite --window step:de'
	holds "$shell: a window to ask for" whole step:decode code 'nsys-explain ask x.sqlite window step:de'
	holds "$shell: a schema" whole brief ief 'nsys-explain schema-json br'
done
holds 'no fourth shell' not "$prog" completion tcsh
"$prog" --man >"$work/man"
for c in $commands; do
	holds "the manual has $c" grep -qx "\.SS $c" "$work/man"
	"$prog" --man "$c" >"$work/man.$c"
	holds "a page for $c" grep -qx "nsys..explain..$(printf %s "$c" | sed 's/-/../') .*" "$work/man.$c"
	for o in $("$prog" help "$c" | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE '[a-z-]+$'); do
		holds "the page for $c has $o" grep -qF -- "$(printf %s "$o" | sed 's/-/\\-/g')" "$work/man.$c"
	done
done
if command -v mandoc >/dev/null; then holds 'the manual is well formed' mandoc -Tlint -W error "$work"/man*; fi
holds 'the manual has the date of SOURCE_DATE_EPOCH' sh -c "SOURCE_DATE_EPOCH=86400 '$prog' --man | grep -q '^[.]TH .* 1 1970-01-02 '"
holds '... and that of a command' sh -c "SOURCE_DATE_EPOCH=86400 '$prog' --man diff | grep -q '^[.]TH .* 1 1970-01-02 '"
finish
