# nsys-explain: `make demo` shows it, `make check` tests it, `make help` lists the rest.
PROG    := nsys-explain
VERSION := 0.2.0
B       ?= build
PREFIX  ?= /usr/local
CFLAGS  ?= -O3 -g

SRC  := $(sort $(shell find src -name "*.c"))
SQL  := $(sort $(wildcard queries/*.sql queries/*/*.sql))
LIB  := $(patsubst %.c,$B/%.o,$(filter-out src/main.c src/main_mpi.c,$(SRC))) $B/gen/queries.o $B/gen/page.o $B/gen/skill.o
# Functions are aligned to cache lines. Otherwise a function that grows moves the loops of
# all functions behind it, and that alone once made the same code 3 % slower.
STD  := -std=c11 -D_GNU_SOURCE -DNSX_VERSION='"$(VERSION)"' -Isrc -Iinclude -falign-functions=64
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
        -Wformat=2 -Wconversion -Wno-sign-conversion \
        $(if $(SAN),,-Wframe-larger-than=40960) $(if $(CI),-Werror)
GCC12 := $(shell v=$$($(CC) -dumpversion 2>/dev/null | cut -d. -f1); [ "$${v:-0}" -ge 12 ] && echo 1)
# gcc 11 also warns of fields that designated initializers leave out on purpose.
WARN += $(if $(GCC12),,-Wno-missing-field-initializers)
HARD := -fstack-protector-strong -fPIC -fvisibility=hidden \
        $(if $(SAN),$(SAN),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if $(GCC12),3,2))
LINK := -pie -Wl,-z,relro,-z,now $(SAN)
LIBS := -lcsv -ljansson -lsqlite3 -ldeflate -lzstd -llz4 -lpthread -lm
Q    := $(if $(V),,@)

MPICC := $(shell command -v mpicc)

all: $B/$(PROG) $(if $(MPICC),$B/$(PROG)-mpi)

$B/$(PROG): $B/src/main.o $B/libnsx.a
	@echo "  link  $@"
	$(Q)$(CC) $(CFLAGS) $(LINK) -o $@ $^ $(LDFLAGS) $(LIBS)

## static: build/nsys-explain-static, one file that needs no shared libraries
static: $B/$(PROG)-static
$B/$(PROG)-static: $B/src/main.o $B/libnsx.a
	@echo "  link  $@"
	$(Q)$(CC) $(CFLAGS) -static -Wl,-z,relro,-z,now -s -o $@ $^ $(LDFLAGS) $(LIBS)

## quick: build/quick/nsys-explain, not optimised: compiles in a third of the time
quick:
	$(Q)$(MAKE) B=$B/quick CFLAGS='-O0 -g -U_FORTIFY_SOURCE' $B/quick/$(PROG)

# The commit that --version prints: git's, or in a tarball the one that git archive wrote
# into src/package/commit. Empty if neither is known.
COMMIT := $(or $(shell git rev-parse --short=10 HEAD 2>/dev/null),$(shell grep -v Format src/package/commit))
$B/src/main.o: STD += -DNSX_COMMIT='"$(COMMIT)"'
$B/src/main.o: $B/gen/commit
$B/gen/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' > $@

# fleet over MPI; built if mpicc is found.
$B/$(PROG)-mpi: src/main_mpi.c $B/libnsx.a
	@echo "  mpicc $@"
	$(Q)$(MPICC) $(STD) $(HARD) $(CFLAGS) $(LINK) -o $@ $^ $(LDFLAGS) $(LIBS)

# Files that use the version are compiled again when this file changes.
$(patsubst %.c,$B/%.o,$(shell grep -rl NSX_VERSION src --include=*.c)): Makefile
$B/libnsx.a: $(LIB)
	$(Q)rm -f $@ && ar rcs $@ $^

# The library for other programs. Only what include/nsx declares is visible. SOVERSION
# changes when the interface changes.
SOVERSION := 0
SO  := libnsx.so.$(SOVERSION)
lib: $B/$(SO) $B/lib/libnsx.a $B/libnsx.pc
# The static library is one object whose only global names are those of include/nsx.
$B/lib/libnsx.a: $(filter-out $B/src/cli/%,$(LIB)) $(wildcard include/nsx/*.h)
	@mkdir -p $(@D)
	$(Q)grep -hoE '\bnsx_[a-z_]+\(' include/nsx/*.h | tr -d '(' > $B/lib/names
	$(Q)ld -r -o $B/lib/nsx.o $(filter %.o,$^) && objcopy --keep-global-symbols=$B/lib/names $B/lib/nsx.o
	$(Q)rm -f $@ && ar rcs $@ $B/lib/nsx.o
$B/$(SO): $(filter-out $B/src/cli/%,$(LIB))
	@echo "  link  $@"
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,$(SO) -Wl,--no-undefined -Wl,-z,relro,-z,now $(SAN) \
	  -o $@ $^ $(LDFLAGS) $(LIBS)
	$(Q)ln -sf $(SO) $B/libnsx.so
$B/libnsx.pc: FORCE # because PREFIX may have changed
	@mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
	  'Name: libnsx' 'Description: explains NVIDIA Nsight Systems exports' 'Version: $(VERSION)' \
	  'Libs: -L$${libdir} -lnsx' 'Libs.private: $(LIBS)' 'Cflags: -I$${includedir}' > $@

$B/%.o: %.c
	@mkdir -p $(@D)
	@echo "  cc    $<"
	$(Q)$(CC) $(STD) $(WARN) $(HARD) $(CFLAGS) -MMD -MP -c -o $@ $<

$B/gen/queries.o: $B/gen/queries.c
	$(Q)$(CC) $(STD) $(CFLAGS) $(HARD) -c -o $@ $<

$B/gen/page.o: $B/gen/page.c
	$(Q)$(CC) $(STD) $(CFLAGS) $(HARD) -c -o $@ $<
SKILL := src/agent/skill/SKILL.md $(sort $(wildcard src/agent/skill/references/*.md))
$B/gen/skill.o: $B/gen/skill.c
	$(Q)$(CC) $(STD) $(CFLAGS) $(HARD) -c -o $@ $<
$B/gen/skill.c: src/base/embed.awk $(SKILL)
	@mkdir -p $(@D)
	$(Q)awk -v header=agent/skill.h -v type=nsx_skill_file -v table=nsx_skill_files -v count=nsx_nskill_files \
		-v before='^.*/skill/' -v after='^$$' -f $< $(SKILL) > $@.tmp && mv $@.tmp $@

HTML := src/emit/html/page.css src/emit/html/page.js
$B/gen/page.c: src/emit/html/embed.sh $(HTML)
	@mkdir -p $(@D)
	$(Q)sh src/emit/html/embed.sh $(HTML) > $@.tmp && mv $@.tmp $@

# All queries as one generated C table. The list of files is a prerequisite, so that adding
# or deleting a query makes the table again.
$B/gen/sql.list: FORCE
	@mkdir -p $(@D)
	@echo '$(SQL)' | cmp -s - $@ || echo '$(SQL)' > $@
$B/gen/queries.c: src/base/embed.awk $(SQL) $B/gen/sql.list
	$(Q)awk -v header=schema/query.h -v type=nsx_query -v table=nsx_queries -v count=nsx_nqueries \
		-v before='^.*/' -v after='[.]sql$$' -f $< $(SQL) > $@.tmp && mv $@.tmp $@

## demo: install what is missing, build, explain a real report and the synthetic example
demo:
	@tests/deps.sh build
	@$(MAKE) --no-print-directory all $B/fixtures/synthetic.sqlite
	$B/$(PROG) examples/blocks.nsys-rep --out $B/demo-blocks
	$B/$(PROG) $B/fixtures/synthetic.sqlite -v --out $B/demo-report
	@echo; sed -n '1,40p' $B/demo-report/report.md; echo "... the rest: $B/demo-report/report.md"

## check: install what is missing for the tests, build, run them all
check:
	@tests/deps.sh test
	@$(MAKE) --no-print-directory -j$$(nproc) test-programs
	@tests/run.sh $B

# Tests ---------------------------------------------------------------------
FIX  := $(patsubst tests/fixtures/%.sql,$B/fixtures/%.sqlite,$(sort $(wildcard tests/fixtures/*.sql)))
UNIT := $(patsubst tests/%.c,$B/tests/%,$(sort $(wildcard tests/unit/test_*.c tests/property/prop_*.c)))
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
# Exports whose fixture was deleted are removed, because suites run on the whole folder.
fixtures: $(FIX)
	$(Q)rm -f $(filter-out $(FIX),$(wildcard $B/fixtures/*.sqlite))
test-programs: all fixtures $B/mkrep $B/$(PROG)-faults $B/fleet-gen $B/fleet-same $(UNIT) replay-programs
replay-programs: $(FUZZ:%=$B/replay/%)

# The program with allocations that fail on request (tests/suite/faults.sh).
$B/$(PROG)-faults: src/base/arena.c $B/src/main.o $B/libnsx.a
	$(Q)$(CC) $(STD) $(WARN) $(HARD) $(CFLAGS) -DNSX_FAULTS $(LINK) -o $@ $^ $(LDFLAGS) $(LIBS)

$B/mkfixture: tests/mkfixture.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) -o $@ $< -lsqlite3
# What fixtures include: another fixture, or a file in a folder whose name begins with "_".
INCLUDED := $(addprefix tests/fixtures/,$(sort $(shell sed -n 's/^-- @include //p' \
	tests/fixtures/*.sql tests/fixtures/_*/*.sql)))
$B/fixtures/%.sqlite: tests/fixtures/%.sql $B/mkfixture $(INCLUDED)
	@mkdir -p $(@D)
	$(Q)$B/mkfixture $< $@
# Writes an SQLite export as a report file (.nsys-rep).
$B/mkrep: tests/nsysrep/mkrep.c tests/nsysrep/wire.c tests/nsysrep/wire.h tests/nsysrep/mkrep.def
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) -o $@ $(filter %.c,$^) -lsqlite3 -llz4
$B/fleet-%: tests/fleet/%.c $B/libnsx.a
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) $(LINK) -o $@ $< $B/libnsx.a $(LIBS)
$B/tests/%: $B/tests/%.o $B/libnsx.a
	@echo "  test  $@"
	$(Q)$(CC) $(CFLAGS) $(LINK) -o $@ $< $B/libnsx.a -lcmocka $(LIBS)

## golden: golden cases; T=ID/CASE selects some (globs), UPDATE=1 records new outputs
golden: $B/$(PROG) $(FIX)
	$(Q)tests/golden.sh $B/$(PROG) $B/fixtures $(if $(UPDATE),--update) $(if $(T),'$(T)')
## refresh: records new outputs of golden cases and examples; read them with git diff
refresh: $B/$(PROG) $(FIX)
	$(Q)tests/golden.sh $B/$(PROG) $B/fixtures --update
	$(Q)tests/suite/examples.sh $B --update
	$(Q)UPDATE=1 MUTATIONS=1 tests/suite/mcp.sh $B
## unit: unit and property tests; T=pattern selects programs by name
unit:
	@tests/deps.sh unit
	@$(MAKE) --no-print-directory fixtures $(UNIT)
	$(Q)tests/unit.sh $B $(if $(T),'$(T)')
## asan: all tests with AddressSanitizer and UBSan, in build/asan
asan:
	$(MAKE) check B=$B/asan CFLAGS='-O1 -g -fno-omit-frame-pointer' \
	  SAN='-fsanitize=address,undefined -fno-sanitize-recover=all'
## told: writes tests/told.tsv, which records the first statements about each of our traces
told: all fixtures
	tests/told.sh $B >tests/told.tsv
## tsan: commands on fixtures and traces with ThreadSanitizer, 8 threads
tsan:
	$(MAKE) all fixtures B=$B/tsan CFLAGS='-O1 -g' SAN=-fsanitize=thread
	for c in '--threads 8 -q --json' 'convert -o $B/tsan/out.pftrace' \
		'digest --threads 8 -o $B/tsan/out.nsxd' 'fleet --jobs 8 --json' \
		'ask @ gaps --threads 8' \
		'diff --threads 8 $B/tsan/fixtures/diff_before.sqlite'; do \
		tests/each.sh "$B/tsan/$(PROG) $$c" $B/tsan/fixtures || exit; \
	done
	MUTATIONS=300 tests/suite/mcp.sh $B/tsan
## valgrind: fixtures and traces under memcheck
valgrind: all fixtures
	tests/each.sh "valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect $B/$(PROG) --threads 2 -q --json" $B/fixtures
## coverage: lines and branches that the tests reach (gcov, gcovr); under 90 % fails
coverage:
	@tests/deps.sh coverage
	rm -rf $B/coverage
	GCOV_ERROR_FILE=/dev/null $(MAKE) check B=$B/coverage \
	  CFLAGS='-O0 -g --coverage' SAN=-fprofile-update=atomic
	tests/coverage.sh $B/coverage
# Fuzzing --------------------------------------------------------------------
FUZZTIME ?= 60
# The stamp of the generated seeds from which the fuzz targets start.
SEEDS := $B/seeds/.made
$B/mkseeds: tests/fuzz/mkseeds.c tests/fuzz/fuzz.h tests/fuzz/bases.h $B/libnsx.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(HARD) $(CFLAGS) $(LINK) -o $@ $< $B/libnsx.a $(LIBS)
REPORTS := synthetic mpi_messages osrt_kinds nvtx_domains sched python_stacks graphs_node
$(SEEDS): $B/mkseeds $B/mkrep $(FIX)
	$(Q)rm -rf $(@D) && $B/mkseeds $(@D) $(FIX) && mkdir $(@D)/fuzz_nsysrep
	$(Q)for f in $(REPORTS); do $B/mkrep $B/fixtures/$$f.sqlite $(@D)/fuzz_nsysrep/$$f 2>$(@D)/left_out || exit; done
	$(Q)touch $@
$B/replay/%: tests/fuzz/%.c tests/fuzz/replay.c tests/fuzz/fuzz.h tests/fuzz/bases.h $B/libnsx.a | $(SEEDS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(HARD) $(CFLAGS) $(LINK) -o $@ $< tests/fuzz/replay.c $B/libnsx.a $(LIBS)
$B/fuzz/%: tests/fuzz/%.c tests/fuzz/fuzz.h tests/fuzz/bases.h $B/libnsx.a | $(SEEDS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(HARD) $(CFLAGS) $(LINK) -fsanitize=fuzzer -o $@ $< $B/libnsx.a $(LIBS)
fuzz-programs: $(FUZZ:%=$B/fuzz/%)
## fuzz: libFuzzer over all targets (clang), FUZZTIME seconds each
fuzz:
	$(MAKE) fuzz-programs B=$B/clang CC=clang CFLAGS='-O1 -g -fno-omit-frame-pointer' \
	  SAN='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all'
	FUZZTIME=$(FUZZTIME) tests/fuzz/run.sh $B/clang $(FUZZ)
## bench: time and memory against a plain scan, on generated traces
bench: all
	tests/bench/run.sh $B
## pgo: the program in build/pgo, compiled with a profile of itself: 5 to 10 % less processor time
PGO := $B/pgo
pgo:
	rm -rf $(PGO)
	$(MAKE) $(PGO)/$(PROG) B=$(PGO) CFLAGS='$(CFLAGS) -fprofile-generate -fprofile-update=atomic'
	$(CC) -std=c11 -D_GNU_SOURCE -O2 -o $(PGO)/bench_gen tests/bench/gen*.c -lsqlite3 -lm
	$(PGO)/bench_gen --kernels 100000 $(PGO)/trace.sqlite
	$(PGO)/$(PROG) $(PGO)/trace.sqlite --threads 2 -q --out $(PGO)/report
	find $(PGO) -name '*.o' -delete
	rm $(PGO)/libnsx.a $(PGO)/$(PROG)
	$(MAKE) $(PGO)/$(PROG) B=$(PGO) CFLAGS='$(CFLAGS) -fprofile-use -fprofile-partial-training -Wno-missing-profile'
## bench-fleet: merging and explaining the digests of 1 024 ranks
bench-fleet: all $B/fleet-gen $B/fleet-same
	tests/bench/fleet.sh $B
# Compiles all C files, including tests and benches, except those that need CUDA's headers.
warnings: all $(patsubst %.c,$B/%.o,tests/mkfixture.c $(filter-out tests/measured/%,$(wildcard tests/*/*.c)))
## lint: warnings as errors, hardening, clang-tidy, cppcheck, shellcheck, layers
lint:
	tests/lint.sh $B

# Installing ----------------------------------------------------------------
TO  := $(DESTDIR)$(PREFIX)
MAN := $(TO)/share/man/man1
COMMANDS := $(subst _,-,$(shell sed -n 's/^NSX_COMMAND(\(.*\))/\1/p' src/cli/commands.def))
SHARE := $(TO)/share/$(PROG)
COMPLETIONS := $(TO)/share/bash-completion/completions/$(PROG) \
	$(TO)/share/zsh/site-functions/_$(PROG) $(TO)/share/fish/vendor_completions.d/$(PROG).fish
## install: program, its alias nsys-llm-explain, manuals, schemas, library and headers, under PREFIX
install: install-program lib
	install -D -m 644 -t $(TO)/include/nsx include/nsx/*.h
	install -D -m 644 -t $(TO)/lib $B/lib/libnsx.a
	install -m 755 $B/$(SO) $(TO)/lib/$(SO) && ln -sf $(SO) $(TO)/lib/libnsx.so
	install -D -m 644 -t $(TO)/lib/pkgconfig $B/libnsx.pc
# The program without the library, for packages.
install-program: all
	install -D -m 755 $B/$(PROG) $(TO)/bin/$(PROG)
	ln -sf $(PROG) $(TO)/bin/nsys-llm-explain
	$(if $(MPICC),install -m 755 $B/$(PROG)-mpi $(TO)/bin/$(PROG)-mpi)
	mkdir -p $(MAN) $(SHARE)/schema && $B/$(PROG) --man > $(MAN)/$(PROG).1
	for c in $(COMMANDS); do $B/$(PROG) --man $$c > $(MAN)/$(PROG)-$$c.1 || exit 1; done
	for n in $$($B/$(PROG) schema-json); do $B/$(PROG) schema-json $$n > $(SHARE)/schema/$${n#tool:}.json || exit 1; done
	mkdir -p $(dir $(COMPLETIONS))
	$B/$(PROG) completion bash > $(word 1,$(COMPLETIONS))
	$B/$(PROG) completion zsh > $(word 2,$(COMPLETIONS))
	$B/$(PROG) completion fish > $(word 3,$(COMPLETIONS))
## uninstall: removes what install put there, and folders under PREFIX that become empty
uninstall:
	rm -f $(TO)/bin/$(PROG) $(TO)/bin/nsys-llm-explain $(TO)/bin/$(PROG)-mpi $(MAN)/$(PROG).1 $(COMPLETIONS)
	rm -rf $(COMMANDS:%=$(MAN)/$(PROG)-%.1) $(SHARE)
	rm -f $(TO)/lib/libnsx.a $(TO)/lib/libnsx.so $(TO)/lib/$(SO) $(TO)/lib/pkgconfig/libnsx.pc
	rm -f $(patsubst %,$(TO)/%,$(wildcard include/nsx/*.h))
	[ ! -d $(TO)/ ] || cd $(TO) && for d in $(patsubst $(TO)/%/,%,$(sort $(dir $(COMPLETIONS)))) bin include/nsx lib/pkgconfig share/man/man1; do \
	  [ ! -d $$d ] || rmdir -p --ignore-fail-on-non-empty $$d; done
## dist: the source of this commit as a tarball, the same bytes every time
dist:
	@mkdir -p $B
	git archive --format=tar --prefix=$(PROG)-$(VERSION)/ HEAD | gzip -9n > $B/$(PROG)-$(VERSION).tar.gz
## deb: a Debian package of the program in build/deb
deb:
	@tests/deps.sh deb
	@mkdir -p $B
	src/package/deb.sh $(VERSION) $B
clean:
	rm -rf $B
help:
	@sed -n 's/^## /  make /p' $(MAKEFILE_LIST)

-include $(patsubst %.c,$B/%.d,$(SRC)) $(UNIT:=.d)
.PHONY: told all lib static quick demo check fuzz fuzz-programs replay-programs fixtures test-programs golden refresh unit asan tsan valgrind coverage bench bench-fleet pgo warnings lint dist deb install install-program uninstall clean help FORCE
.DELETE_ON_ERROR:
