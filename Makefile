# The whole build. `make` builds, `make check` tests, `make install` installs.
#
# Knobs: V=1 (show the commands), CC, CFLAGS, LDFLAGS, PREFIX, OUT (the build folder), WERROR=1
# (warnings are errors), SANITIZE=1 (ASan and UBSan), STATIC=0 (link the C library dynamically),
# PIE=1 (for packages: let the system choose the address of `abacus` at every start), FAULTS=1
# (tests can make the program die at any step that changes the disk), OBJECTS (the folder of the
# object files, if they are shared with another build).

PREFIX ?= $(HOME)/.local
OUT    ?= build
OBJECTS ?= $(OUT)
CFLAGS ?= -O2 -g
PKG    ?= pkg-config
PYTHON ?= python3
FORMAT ?= clang-format

ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
Q = @
else ifneq ($(V),1)
Q = @echo "  $(notdir $@)";
endif
comma   := ,
VERSION := $(shell cat VERSION)
SYSTEM  := $(shell uname -s)
ifeq ($(SYSTEM),Darwin)
PLATFORM = macos
STATIC   = 0
else
PLATFORM = linux
STATIC  ?= 1
endif

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
       -Wvla -Wwrite-strings -Wundef
HARDEN = -fstack-protector-strong -fPIE -ffunction-sections -fdata-sections
ifeq ($(WERROR),1)
WARN += -Werror
endif
ifeq ($(SANITIZE),1)
HARDEN += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -DSANITIZED
LINK   += -fsanitize=address,undefined
STATIC  = 0
else
HARDEN += -D_FORTIFY_SOURCE=2
endif
# For `make sanitized` alone: whether clang's libFuzzer drives the fuzz targets, or
# test/fuzz/driver.c.
ifeq ($(FUZZ_ENGINE),libfuzzer)
HARDEN += -fsanitize=fuzzer-no-link
FUZZ_LINK = -fsanitize=fuzzer
else
FUZZ_LINK = test/fuzz/driver.c
endif

# Static linking cuts the start-up time, which is most of what a command costs, by a third. Not
# every system has the static libraries for it.
ifeq ($(STATIC),1)
# A program at a fixed address needs no relocation: commands take a tenth less time. So each build
# links `abacus` at an address of its own, which nobody who only knows the source can know (below
# that of valgrind). All copies of a package have the same address, so packages should be built with
# PIE=1.
ADDRESS := $(shell od -An -N2 -tu2 /dev/urandom | awk '{ printf "0x%x0000", 4096 + $$1 % 8192 }')
LINK += $(if $(filter 1,$(PIE)),-static-pie -Wl$(comma)-z$(comma)pack-relative-relocs,\
	-static -no-pie -Wl$(comma)-Ttext-segment=$(ADDRESS)) \
	-Wl,-z,relro,-z,now,--gc-sections
LIBS  = -Wl,--no-warnings $(shell $(PKG) --static --libs sqlite3 libsodium)
else
ifeq ($(PLATFORM),linux)
LINK += -pie -Wl,-z,relro,-z,now
endif
LIBS = $(shell $(PKG) --libs sqlite3 libsodium) -lm
endif
# Programs with libraries that are loaded at the start.
DYNAMIC_LINK = $(filter-out -static% -no-pie -Wl$(comma)-Ttext-segment%,$(LINK)) -pie

ALL_CFLAGS = -std=c17 -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE -DABACUS_VERSION='"$(VERSION)"' \
	     $(CFLAGS) $(WARN) $(HARDEN) -Isrc -Itest -include src/base/banned.h \
	     $(shell $(PKG) --cflags sqlite3 libsodium libgit2 libmicrohttpd md4c) -MMD -MP

# A source file's folder decides which program it is linked into. Code that needs libgit2,
# libmicrohttpd or md4c is in programs of its own, because loading those libraries would slow down
# the start of every command.
SYNC    = $(wildcard src/store/repo/*.c src/sync/*.c)
SERVE   = $(wildcard src/serve/*.c)
MAIN    = $(wildcard src/*.c)
OTHER   = $(filter-out %_$(PLATFORM).c,$(wildcard src/*/*/*_linux.c src/*/*/*_macos.c)) \
	  $(wildcard src/*/*/*_$(if $(FAULTS),off,on).c)
SRC     = $(filter-out $(SYNC) $(SERVE) $(OTHER),$(wildcard src/*/*.c src/*/*/*.c))
PAGE    = $(wildcard web/*)
OBJ     = $(SRC:%.c=$(OBJECTS)/%.o)
SYNC_OBJ = $(SYNC:%.c=$(OBJECTS)/%.o)
SERVE_OBJ = $(SERVE:%.c=$(OBJECTS)/%.o) $(OBJECTS)/page.o
MAIN_OBJ = $(MAIN:%.c=$(OBJECTS)/%.o)
UNIT    = $(patsubst %.c,$(OUT)/%.o,$(wildcard test/unit/*.c test/unit/*/*.c))
MEASURE = $(patsubst test/bench/%.c,$(OUT)/bench/%,$(wildcard test/bench/*.c))
FUZZ    = $(patsubst test/fuzz/fuzz_%.c,$(OUT)/fuzz/%,$(wildcard test/fuzz/fuzz_*.c))
MODEL   = $(patsubst test/model/%.c,$(OUT)/model/%,$(wildcard test/model/*.c))
FACES   = abacus bb bd vybe
LINKS   = bb bb-init bd vybe
FORMATTED = $(wildcard src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] test/*/*.[ch] test/*/*/*.[ch])

all: $(OUT)/bin/abacus $(OUT)/libexec/abacus-sync $(OUT)/libexec/abacus-serve

$(OUT)/bin/abacus: $(OBJ) $(MAIN_OBJ)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(LINK) -o $@ $^ $(LIBS)
	@for l in $(LINKS); do ln -sf abacus $(@D)/$$l; done

$(OUT)/libexec/abacus-sync: $(OBJ) $(SYNC_OBJ)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(DYNAMIC_LINK) -o $@ $^ \
		$(shell $(PKG) --libs libgit2 sqlite3 libsodium) -lz -lm

$(OUT)/libexec/abacus-serve: $(OBJ) $(SERVE_OBJ)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(DYNAMIC_LINK) -o $@ $^ \
		$(shell $(PKG) --libs libmicrohttpd md4c sqlite3 libsodium) -lm -lpthread

# Embeds the files of the page into abacus-serve.
$(OBJECTS)/embed: tools/embed.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_DEFAULT_SOURCE -O1 -o $@ $<

$(OBJECTS)/page.c: $(OBJECTS)/embed $(PAGE)
	$(Q)$(OBJECTS)/embed $(PAGE) >$@.new && mv $@.new $@

$(OBJECTS)/page.o: $(OBJECTS)/page.c
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(OBJECTS)/%.o: %.c VERSION Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Tests. Unit tests are linked dynamically, because Debian has no static cmocka.
$(OUT)/units: $(UNIT) $(OBJ)
	$(Q)$(CC) $(CFLAGS) $(DYNAMIC_LINK) -o $@ $^ \
		$(shell $(PKG) --libs cmocka sqlite3 libsodium) -lm

# Small test programs are linked with an archive, from which the linker takes only what they use and
# do not define themselves.
$(OUT)/abacus.a: $(OBJ)
	@rm -f $@
	$(Q)$(AR) rc $@ $^

$(OUT)/fuzz/%: test/fuzz/fuzz_%.c test/fuzz/driver.c $(wildcard test/fuzz/*.h) $(OUT)/abacus.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) $(FUZZ_LINK) -o $@ $< $(OUT)/abacus.a $(LIBS)

$(OUT)/model/%: test/model/%.c $(OUT)/abacus.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) -o $@ $< $(OUT)/abacus.a $(LIBS)

$(OUT)/bench/%: test/bench/%.c $(OUT)/abacus.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) -o $@ $< $(OUT)/abacus.a $(LIBS)

units: $(OUT)/units
model-tools: $(MODEL)
bench-tools: $(MEASURE)

# Programs that tests can kill at every step that changes the disk. They share the object files with
# `all`.
faulty:
	@$(MAKE) FAULTS=1 OBJECTS=$(OUT) OUT=$(OUT)/faulty all

# Sanitized programs, unit tests and fuzz targets, in $(OUT)/asan. They are instrumented for
# libFuzzer if FUZZ_CC supports it (Debian: libclang-rt-14-dev; Apple's clang does not).
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 60

sanitized:
	@mkdir -p $(OUT)/asan
	@echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' >$(OUT)/asan/probe.c
	@if $(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $(OUT)/asan/probe \
		$(OUT)/asan/probe.c 2>/dev/null; then \
		set -- CC="$(FUZZ_CC)" FUZZ_ENGINE=libfuzzer; \
	else \
		set -- CC="$(CC)" FUZZ_ENGINE=driver; \
	fi; \
	$(MAKE) "$$@" OUT=$(OUT)/asan SANITIZE=1 CFLAGS='-O1 -g1' all units fuzz-programs
fuzz-programs: $(FUZZ)

# Runs each fuzz target, or the one named by TARGET, for FUZZ_SECONDS.
fuzz: sanitized
	@test/fuzz/run $(OUT)/asan '$(TARGET)' -max_total_time=$(FUZZ_SECONDS)

check:
	./check --no-install

lint: house lint-format

lint-format:
	@$(FORMAT) --dry-run --Werror $(FORMATTED)

# Checks the rules of the source tree: layers, folders, names, docs.
house:
	@$(PYTHON) test/house

fmt:
	$(FORMAT) -i $(FORMATTED)

bench: all bench-tools bench-instructions
	@$(PYTHON) test/bench/bench.py $(OUT)

N = 100000
bench-requests: all
	@$(PYTHON) test/bench/growth.py $(OUT) $(N)

# 50 writes a second for so long, by the service, MCP and commands; prints what has grown.
HOURS = 2
soak: all
	@$(PYTHON) test/bench/soak.py $(OUT) $(HOURS)

# The same commands of other trackers, of those that are installed, in one run with ours. PEERS:
# options.
bench-peers: all bench-tools
	@$(PYTHON) test/bench/peers.py $(OUT) $(PEERS)

# What the forecast and the guard before a tool cost, with a long history and many files.
bench-collide: all bench-tools
	@$(PYTHON) test/bench/collide.py $(OUT)

# What every command costs in instructions, time and memory, at 1,000, 10,000 and 100,000 beads;
# takes half an hour.
bench-instructions: all bench-tools
	@$(PYTHON) test/bench/instructions.py $(OUT)

# The counts that ./check compares with; a change that makes a command dearer on purpose updates
# them.
bench-baseline: all
	@$(PYTHON) test/bench/instructions.py $(OUT) --baseline test/bench/baseline.json

# Generates the reference from the tables of operations and commands.
doc: all
	$(OUT)/bin/abacus docs >doc/commands.md

# Draws what the commands show on a terminal. Look at the pictures before you commit them.
screens: all
	$(Q)tools/screens

# Takes the screenshots of the documentation. Without names, shots.py takes every view at every
# width. Look at them before you commit them.
shots: all
	$(PYTHON) test/web/shots.py doc/page now bead board files graph charts 1260 light
	$(PYTHON) test/web/shots.py doc/page now 390 dark

# Compiles for macOS without linking; see `check` for where the headers come from.
portable:
	@for f in $(filter-out %_linux.c,$(SRC)) $(wildcard src/*/*/*_macos.c) $(SYNC) $(SERVE) $(MAIN); do \
		zig cc -target aarch64-macos -std=c17 -D_DARWIN_C_SOURCE \
			-DABACUS_VERSION='"$(VERSION)"' $(WARN) -Werror \
			-Isrc -I$(OUT)/macos \
			-include src/base/banned.h -c -o $(OUT)/macos/a.o $$f || exit 1; \
	done

TO = $(DESTDIR)$(PREFIX)

install: all
	install -d "$(TO)/bin" "$(TO)/libexec" "$(TO)/share/man/man1" \
		"$(TO)/share/bash-completion/completions" \
		"$(TO)/share/zsh/site-functions" "$(TO)/share/fish/vendor_completions.d"
	install -m 755 $(OUT)/bin/abacus "$(TO)/bin/.abacus.new"
	mv -f "$(TO)/bin/.abacus.new" "$(TO)/bin/abacus"
	for p in abacus-sync abacus-serve; do \
		install -m 755 $(OUT)/libexec/$$p "$(TO)/libexec/.$$p.new" && \
		mv -f "$(TO)/libexec/.$$p.new" "$(TO)/libexec/$$p" || exit 1; \
	done
	for l in $(LINKS); do ln -sf abacus "$(TO)/bin/$$l"; done
	for p in $(FACES); do \
		$(OUT)/bin/abacus man $$p >"$(TO)/share/man/man1/$$p.1" && \
		$(OUT)/bin/abacus completion bash $$p \
			>"$(TO)/share/bash-completion/completions/$$p" && \
		$(OUT)/bin/abacus completion zsh $$p \
			>"$(TO)/share/zsh/site-functions/_$$p" && \
		$(OUT)/bin/abacus completion fish $$p \
			>"$(TO)/share/fish/vendor_completions.d/$$p.fish" || exit 1; \
	done

uninstall:
	rm -f "$(TO)/libexec/abacus-sync" "$(TO)/libexec/abacus-serve"
	for p in abacus $(LINKS); do \
		rm -f "$(TO)/bin/$$p" "$(TO)/share/man/man1/$$p.1" \
			"$(TO)/share/bash-completion/completions/$$p" \
			"$(TO)/share/zsh/site-functions/_$$p" \
			"$(TO)/share/fish/vendor_completions.d/$$p.fish"; \
	done

clean:
	rm -rf $(OUT)

-include $(OBJ:.o=.d) $(SYNC_OBJ:.o=.d) $(SERVE_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(UNIT:.o=.d)
.PHONY: screens soak bench-peers bench-collide all units faulty sanitized fuzz-programs \
	fuzz model-tools bench-tools check lint lint-format house fmt bench bench-requests \
	bench-instructions bench-baseline doc shots portable install uninstall clean
