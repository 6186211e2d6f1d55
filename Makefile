# framewalk: one non-recursive Makefile. `make help` lists the targets.
# Variables: O=dir (objects, default build), DEV=1 (warnings are errors),
# SAN=address,undefined|thread, CC, CFLAGS, LDFLAGS, prefix, DESTDIR, V=1.

O ?= build
CC ?= cc
CFLAGS ?= -O2 -g
prefix ?= /usr/local
bindir ?= $(prefix)/bin
libexecdir ?= $(prefix)/libexec
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man
# Real captures with known answers, kept outside this repository; tests that
# need them are skipped where the folder is missing.
CORPUS ?= ../shared/corpus

VERSION := 0.1.0

# Debian packages. RUN: what building and running needs; TEST: what checking adds.
PACKAGES_RUN := libc6-dev libelf-dev libdwarf-dev libxxhash-dev libzstd-dev libdeflate-dev zlib1g-dev \
	libiberty-dev liblzma-dev libseccomp-dev
PACKAGES_TEST := check binutils python3-minimal python3-jsonschema clang libclang-rt-14-dev

FW_CFLAGS := -std=gnu11 -I. -MMD -MP -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFW_VERSION='"$(VERSION)"' \
	-DXXH_INLINE_ALL= -fno-strict-aliasing -fvisibility=hidden -pthread
LIBS := -ldwarf -lelf -liberty -lzstd -ldeflate -lz -llzma -lseccomp -pthread
ifeq ($(DEV),1)
FW_CFLAGS += -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
endif
ifneq ($(SAN),)
FW_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
FW_LDFLAGS += -fsanitize=$(SAN)
endif
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-5s %s\n'
endif

LIB_SRC := $(sort $(wildcard lib/*/*.c symfiles/*.c))
CMD_SRC := $(sort $(wildcard cmd/*.c))
TEST_SRC := $(sort $(wildcard tests/test_*.c) $(wildcard tests/synth_*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(O)/%.o)
TEST_OBJ := $(TEST_SRC:%.c=$(O)/%.o)
SUITES := $(patsubst tests/test_%.c,%,$(sort $(wildcard tests/test_*.c)))
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

all: $(O)/framewalk ## build the program (default)

# Objects depend on the flags they were built with.
FLAGS := $(CC) $(CFLAGS) $(FW_CFLAGS) $(LDFLAGS) $(FW_LDFLAGS)
$(O)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(FW_CFLAGS) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(O)/lib/report/profile_flamegraph.o: lib/report/flamegraph.html

$(O)/libframewalk.a: $(LIB_OBJ)
	$(say) AR $@
	$(Q)rm -f $@; $(AR) rcs $@ $(LIB_OBJ)

$(O)/framewalk: $(CMD_OBJ) $(O)/libframewalk.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(FW_LDFLAGS) -o $@ $(CMD_OBJ) $(O)/libframewalk.a $(LIBS)

# Every tests/test_NAME.c exports `Suite *NAME_suite(void)`; the list is made here.
$(O)/tests/suites.inc: $(O)/flags $(TEST_SRC)
	@mkdir -p $(@D); for s in $(SUITES); do echo "SUITE($$s)"; done > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(O)/tests/main.o: $(O)/tests/suites.inc
$(O)/tests/main.o: FW_CFLAGS += -I$(O)/tests
$(O)/tests/unit: $(O)/tests/main.o $(TEST_OBJ) $(O)/libframewalk.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(FW_LDFLAGS) -o $@ $(O)/tests/main.o $(TEST_OBJ) $(O)/libframewalk.a $(LIBS) -lcheck_pic -lsubunit -lrt -lm

unit: $(O)/tests/unit $(O)/framewalk ## unit tests only; RUN=suite runs one
	CORPUS='$(CORPUS)' FRAMEWALK=$(O)/framewalk CK_RUN_SUITE='$(RUN)' $(O)/tests/unit

# --- what a newcomer types -------------------------------------------------

deps: ## install the Debian packages that building needs, where missing
	@sh tests/packages.sh $(PACKAGES_RUN)
deps-test: ## and those that the tests need
	@sh tests/packages.sh $(PACKAGES_RUN) $(PACKAGES_TEST)

DEMO := testdata/threads
demo: deps ## install what is missing, build, and read a shipped crash
	@$(MAKE) --no-print-directory all
	$(O)/framewalk stack $(DEMO)/crash.dmp -s $(DEMO)

check: deps-test ## install what is missing, build, run all tests
	@$(MAKE) --no-print-directory check-all

# Each part writes TAP; tests/summary.sh adds them up and sets the exit status.
TAP := $(O)/tap
TEST_ENV = CORPUS='$(abspath $(CORPUS))' FRAMEWALK='$(abspath $(O))/framewalk' TESTDATA='$(CURDIR)/testdata' \
	BUILD='$(abspath $(O))' CK_DEFAULT_TIMEOUT=60
check-all: all $(O)/tests/unit $(O)/tests/regress $(O)/tests/tools/print_rows $(O)/tests/tools/print_profile
	@rm -rf $(TAP); mkdir -p $(TAP)
	-@$(TEST_ENV) CK_TAP_LOG_FILE_NAME=$(TAP)/unit.tap $(O)/tests/unit > $(TAP)/unit.log 2>&1; echo "exit $$?" >> $(TAP)/unit.tap
	-@$(TEST_ENV) sh tests/cli/run > $(TAP)/cli.tap; echo "exit $$?" >> $(TAP)/cli.tap
	-@$(TEST_ENV) python3 tests/truth.py > $(TAP)/truth.tap; echo "exit $$?" >> $(TAP)/truth.tap
	-@$(TEST_ENV) python3 tests/same_answer.py > $(TAP)/same.tap; echo "exit $$?" >> $(TAP)/same.tap
	-@$(TEST_ENV) python3 tests/sweep.py --check > $(TAP)/sweep.tap; echo "exit $$?" >> $(TAP)/sweep.tap
	-@$(TEST_ENV) python3 tests/sweep_elf.py --check > $(TAP)/sweep_elf.tap; echo "exit $$?" >> $(TAP)/sweep_elf.tap
	-@$(TEST_ENV) python3 tests/oracle_cfi.py $(O)/tests/tools/print_rows $(SYSTEM_LIBS) > $(TAP)/oracle.tap; echo "exit $$?" >> $(TAP)/oracle.tap
	-@$(TEST_ENV) python3 tests/oracle_names.py $(O)/framewalk > $(TAP)/names.tap; echo "exit $$?" >> $(TAP)/names.tap
	-@$(TEST_ENV) python3 tests/samples_right.py --check $(O)/framewalk > $(TAP)/samples.tap; echo "exit $$?" >> $(TAP)/samples.tap
	-@for l in tests/lint/*.sh; do $(TEST_ENV) sh $$l; done > $(TAP)/lint.tap; echo "exit $$?" >> $(TAP)/lint.tap
	-@$(O)/tests/regress tests/fuzz/corpus > $(TAP)/regress.tap; echo "exit $$?" >> $(TAP)/regress.tap
	@sh tests/summary.sh $(TAP)/*.tap

cli: all $(O)/tests/tools/print_profile ## golden tests of the command line; RUN=group/case runs one, BLESS=1 rewrites them
	@$(TEST_ENV) sh tests/cli/run $(if $(BLESS),--bless) $(RUN)
lint: all ## include direction, headers alone, forbidden words, fixtures
	@$(TEST_ENV) sh tests/lint/stairs.sh; a=$$?; $(TEST_ENV) sh tests/lint/words.sh; b=$$?; \
		$(TEST_ENV) sh tests/lint/fixtures.sh && [ $$a = 0 ] && [ $$b = 0 ]
man: ## check the man page (groff)
	groff -man -ww -z cmd/framewalk.1

# --- installing ---------------------------------------------------------------

bashcompdir ?= $(datadir)/bash-completion/completions
zshcompdir ?= $(datadir)/zsh/site-functions
fishcompdir ?= $(datadir)/fish/vendor_completions.d
INSTALLED = $(bindir)/framewalk $(mandir)/man1/framewalk.1 $(datadir)/framewalk/framewalk.schema.json \
	$(datadir)/framewalk/framewalk-samples.schema.json $(datadir)/framewalk/framewalk-symbols.schema.json \
	$(libexecdir)/framewalk/addr2line $(libexecdir)/framewalk/llvm-symbolizer \
	$(bashcompdir)/framewalk $(zshcompdir)/_framewalk $(fishcompdir)/framewalk.fish

# The completions are what the built program prints; cross builds name one that runs here.
RUN_FRAMEWALK ?= $(O)/framewalk
install: all ## program, man page, completions and schema: prefix=/usr/local DESTDIR=
	install -d $(addprefix $(DESTDIR),$(dir $(INSTALLED)))
	install -m 755 $(O)/framewalk $(DESTDIR)$(bindir)/framewalk
	ln -sf $(bindir)/framewalk $(DESTDIR)$(libexecdir)/framewalk/addr2line
	ln -sf $(bindir)/framewalk $(DESTDIR)$(libexecdir)/framewalk/llvm-symbolizer
	sed 's|/usr/local/share|$(datadir)|' cmd/framewalk.1 > $(O)/framewalk.1
	install -m 644 $(O)/framewalk.1 $(DESTDIR)$(mandir)/man1/framewalk.1
	install -m 644 cmd/framewalk.schema.json $(DESTDIR)$(datadir)/framewalk/framewalk.schema.json
	install -m 644 cmd/framewalk-samples.schema.json $(DESTDIR)$(datadir)/framewalk/framewalk-samples.schema.json
	install -m 644 cmd/framewalk-symbols.schema.json $(DESTDIR)$(datadir)/framewalk/framewalk-symbols.schema.json
	for s in bash zsh fish; do $(RUN_FRAMEWALK) completion $$s > $(O)/completion.$$s || exit 1; done
	install -m 644 $(O)/completion.bash $(DESTDIR)$(bashcompdir)/framewalk
	install -m 644 $(O)/completion.zsh $(DESTDIR)$(zshcompdir)/_framewalk
	install -m 644 $(O)/completion.fish $(DESTDIR)$(fishcompdir)/framewalk.fish
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))

# --- fuzzing ----------------------------------------------------------------

# The same targets without libFuzzer: every corpus file once, in make check.
REGRESS_OBJ := $(FUZZERS:%=$(O)/tests/fuzz/fuzz_%.o)
$(O)/tests/fuzz/fuzz_%.o: FW_CFLAGS += -DLLVMFuzzerTestOneInput=$(notdir $*)
$(O)/tests/fuzz/targets.inc: $(O)/flags $(FUZZERS:%=tests/fuzz/fuzz_%.c)
	@mkdir -p $(@D); for f in $(FUZZERS); do echo "TARGET($$f)"; done > $@
$(O)/tests/fuzz/regress.o: $(O)/tests/fuzz/targets.inc
$(O)/tests/fuzz/regress.o: FW_CFLAGS += -I$(O)/tests/fuzz
$(O)/tests/regress: $(O)/tests/fuzz/regress.o $(REGRESS_OBJ) $(O)/libframewalk.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(FW_LDFLAGS) -o $@ $(O)/tests/fuzz/regress.o $(REGRESS_OBJ) $(O)/libframewalk.a $(LIBS)

# What the oracles ask.
$(O)/tests/tools/%: $(O)/tests/tools/%.o $(O)/libframewalk.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(FW_LDFLAGS) -o $@ $^ $(LIBS)

$(O)/tests/tools/print_profile: $(O)/tests/synth_profile.o $(O)/tests/synth_profile_perf.o

# What the bench runs.
$(O)/tests/bench/%: $(O)/tests/bench/%.o $(O)/libframewalk.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(FW_LDFLAGS) -o $@ $^ $(LIBS) -ldl

# Their rows are compared with readelf's, where both are there.
SYSTEM_LIBS ?= $(foreach l,libc.so.6 libm.so.6 ld-linux-x86-64.so.2 libstdc++.so.6,$(wildcard /lib/x86_64-linux-gnu/$(l)))
oracle: oracle-cfi oracle-names oracle-samples oracle-repair ## rows, names, lines and samples against other tools
oracle-cfi: $(O)/tests/tools/print_rows ## CFI rows against readelf: SYSTEM_LIBS='FILE ...'
	$(TEST_ENV) python3 tests/oracle_cfi.py $< $(SYSTEM_LIBS)
oracle-names: all ## names and lines of 100,000 addresses of large programs: ONLY=g++-5 or PROGRAMS='FILE ...'
	$(TEST_ENV) python3 tests/oracle_names.py --large --only '$(ONLY)' $(O)/framewalk $(PROGRAMS)
oracle-samples: all ## stacks of samples against perf script and hotspot-perfparser: ONLY=NAME,... KEEP=DIR RECORDINGS='FILE ...'
	$(TEST_ENV) python3 tests/samples_right.py --only '$(ONLY)' $(if $(KEEP),--keep '$(KEEP)') $(O)/framewalk $(RECORDINGS)
oracle-repair: all ## stacks that --repair completes against whole ones: RECORDINGS='FILE ...' of dwarf,65528
	$(TEST_ENV) python3 tests/samples_repaired.py $(O)/framewalk $(RECORDINGS)

SECONDS ?= 60
fuzz-%: ## fuzz-sym, fuzz-minidump ...: libFuzzer under ASan+UBSan, SECONDS=600
	@$(MAKE) --no-print-directory O=build-fuzz CC=clang SAN=fuzzer-no-link,address,undefined build-fuzz/fuzz_$*
	@mkdir -p build-fuzz/corpus/$*
	ASAN_OPTIONS=detect_leaks=1 build-fuzz/fuzz_$* -max_total_time=$(SECONDS) -timeout=2 -rss_limit_mb=512 \
		-print_final_stats=1 -artifact_prefix=build-fuzz/$*- build-fuzz/corpus/$* tests/fuzz/corpus/$*
build-fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(O)/libframewalk.a
	$(Q)$(CC) $(FW_CFLAGS) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< $(O)/libframewalk.a $(LIBS)
fuzz: $(FUZZERS:%=fuzz-%) ## every target in turn

# --- longer work, each with its own target ------------------------------------

asan: ## unit tests and fuzz corpora under ASan+UBSan
	@$(MAKE) --no-print-directory O=build-asan SAN=address,undefined CFLAGS='-O1 -g' build-asan/framewalk build-asan/tests/unit build-asan/tests/regress
	$(subst $(abspath $(O)),$(abspath build-asan),$(TEST_ENV)) CK_FORK=no build-asan/tests/unit
	build-asan/tests/regress tests/fuzz/corpus > /dev/null
tsan: ## unit tests of threads under TSan
	@$(MAKE) --no-print-directory O=build-tsan SAN=thread CFLAGS='-O1 -g' build-tsan/framewalk build-tsan/tests/unit
	$(subst $(abspath $(O)),$(abspath build-tsan),$(TEST_ENV)) CK_FORK=no build-tsan/tests/unit
comma := ,
SWEPT := $(subst $(comma), ,$(or $(KIND),dump elf core))
sweep: all ## mutants through the program: KIND=dump (and .sym, prefixes, flips), KIND=elf,core; COUNT=10000 SEED=1 FRAMEWALK=build-asan/framewalk
ifneq ($(filter dump,$(SWEPT)),)
	$(TEST_ENV) python3 tests/sweep.py --count $(or $(COUNT),10000) --seed $(or $(SEED),1) --prefixes --flips --images
endif
ifneq ($(filter elf core,$(SWEPT)),)
	$(TEST_ENV) $(if $(FRAMEWALK),FRAMEWALK='$(abspath $(FRAMEWALK))') python3 tests/sweep_elf.py \
		--count $(or $(COUNT),2500) --seed $(or $(SEED),1) $(patsubst %,--kind %,$(filter elf core,$(SWEPT)))
endif
check-consumers: all $(O)/tests/tools/print_profile $(O)/tests/tools/print_chains ## formats of samples by what reads them: needs npm, chromium, protoc, go where there; RECORDINGS='FILE ...'
	$(TEST_ENV) sh tests/consumers/run $(O)/tests/tools $(O)/consumers
bench: all $(O)/tests/bench/bench_cfi ## instructions and memory of the main jobs, against their bars
	$(TEST_ENV) sh tests/bench/bench.sh
PROTOCOL_DIR ?= $(O)/bench-protocol
bench-protocol: all ## perf script with our addr2line and with binutils' (compiles for minutes at first)
	python3 tests/bench/protocol.py $(O)/framewalk $(PROTOCOL_DIR)
fresh: ## both README commands in a minimal Debian 12 made with mmdebstrap (root)
	sh tests/fresh.sh

clean: ## remove what was built
	rm -rf $(O) build*/

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

FORCE:
.PHONY: all unit deps deps-test demo check check-all check-consumers cli lint man install uninstall fuzz asan tsan sweep oracle oracle-cfi oracle-names oracle-samples oracle-repair bench bench-protocol fresh clean help FORCE
.DELETE_ON_ERROR:
-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(O)/tests/main.d $(REGRESS_OBJ:.o=.d)
