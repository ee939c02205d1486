# nsys-explain: `make demo` shows it, `make check` tests it, `make help` lists the rest.
PROG    := nsys-explain
VERSION := 0.1.0
B       ?= build
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g

SRC  := $(sort $(wildcard src/*.c src/*/*.c))
SQL  := $(sort $(wildcard queries/*.sql))
LIB  := $(patsubst %.c,$B/%.o,$(filter-out src/main.c,$(SRC))) $B/gen/queries.o
STD  := -std=c11 -D_GNU_SOURCE -DNSX_VERSION='"$(VERSION)"' -Iinclude -Isrc
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
        -Wformat=2 -Wconversion -Wno-sign-conversion $(if $(CI),-Werror)
HARD := -fstack-protector-strong -fPIE $(if $(SAN),$(SAN),-D_FORTIFY_SOURCE=2)
LINK := -pie -Wl,-z,relro,-z,now $(SAN)
LIBS := -lcsv -ljansson -lsqlite3 -lz -lzstd -lpthread -lm
Q    := $(if $(V),,@)

all: $B/$(PROG)

$B/$(PROG): $B/src/main.o $B/libnsx.a
	@echo "  link  $@"
	$(Q)$(CC) $(CFLAGS) $(LINK) -o $@ $^ $(LDFLAGS) $(LIBS)

$B/libnsx.a: $(LIB)
	$(Q)rm -f $@ && ar rcs $@ $^

$B/%.o: %.c
	@mkdir -p $(@D)
	@echo "  cc    $<"
	$(Q)$(CC) $(STD) $(WARN) $(HARD) $(CFLAGS) -MMD -MP -c -o $@ $<

$B/gen/queries.o: $B/gen/queries.c
	$(Q)$(CC) $(STD) $(CFLAGS) $(HARD) -c -o $@ $<

# All SQL in one generated table; made again when a file appears or goes.
$B/gen/sql.list: FORCE
	@mkdir -p $(@D)
	@echo '$(SQL)' | cmp -s - $@ || echo '$(SQL)' > $@
$B/gen/queries.c: src/embed.awk $(SQL) $B/gen/sql.list
	$(Q)awk -f src/embed.awk $(SQL) > $@.tmp && mv $@.tmp $@

# Fixtures are SQL text; mkfixture makes databases of them.
FIX := $(patsubst tests/fixtures/%.sql,$B/fixtures/%.sqlite,$(sort $(wildcard tests/fixtures/*.sql)))
fixtures: $(FIX)
$B/mkfixture: tests/mkfixture.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(CFLAGS) -o $@ $< -lsqlite3
$B/fixtures/%.sqlite: tests/fixtures/%.sql $B/mkfixture $(wildcard tests/fixtures/_schema/*.sql)
	@mkdir -p $(@D)
	$(Q)$B/mkfixture $< $@

# T=ID/CASE picks golden cases (globs), UPDATE=1 writes them anew.
golden: $B/$(PROG) $(FIX)
	$(Q)tests/golden.sh $B/$(PROG) $B/fixtures $(if $(UPDATE),--update) $(if $(T),'$(T)')

clean:
	rm -rf $B

-include $(patsubst %.c,$B/%.d,$(SRC))
.PHONY: all fixtures golden clean FORCE
.DELETE_ON_ERROR:
