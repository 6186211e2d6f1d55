# framewalk: one non-recursive Makefile. `make help` lists the targets.
# Variables: O=dir (objects, default build), DEV=1 (warnings are errors),
# SAN=address,undefined|thread, CC, CFLAGS, LDFLAGS, prefix, DESTDIR, V=1.

O ?= build
CC ?= cc
CFLAGS ?= -O2 -g
prefix ?= /usr/local
bindir ?= $(prefix)/bin
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man
# Real captures with known answers, kept outside this repository; tests that
# need them are skipped where the folder is missing.
CORPUS ?= ../shared/corpus

VERSION := 0.1.0

# Debian packages. RUN: what building and running needs; TEST: what checking adds.
PACKAGES_RUN := libc6-dev libelf-dev libxxhash-dev libzstd-dev libdeflate-dev zlib1g-dev
PACKAGES_TEST := check python3-minimal python3-jsonschema clang libclang-rt-14-dev

FW_CFLAGS := -std=gnu11 -I. -MMD -MP -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFW_VERSION='"$(VERSION)"' \
	-fno-strict-aliasing -fvisibility=hidden -pthread
LIBS := -lelf -lzstd -ldeflate -lz -pthread
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

clean: ## remove what was built
	rm -rf $(O) build*/

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

FORCE:
.PHONY: all unit clean help FORCE
.DELETE_ON_ERROR:
-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(O)/tests/main.d
