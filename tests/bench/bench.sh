#!/bin/sh
# Instructions (callgrind) and memory of the main jobs against their bars. Every
# figure is of the program itself, all checks on; what it printed is asserted
# first. Needs valgrind, and $CORPUS for the inputs. Not a test: figures. Nanoseconds are
# CPU time, the least of seven passes.
# CEPH=DIR measures names of a large C++ program first, see ceph.py.
# HUGE=500 also generates a 500 MB symbol file and measures it (minutes, gigabytes).
set -u
F=$FRAMEWALK
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
bad=0
if [ -n "${CEPH:-}" ]; then
	python3 "$(dirname "$0")/ceph.py" "$F" "$CEPH" || bad=1
else
	echo "no CEPH=DIR: names of a large program are not measured"
fi
D=$CORPUS/minidumps/deep
[ -d "$D" ] || { echo "no \$CORPUS: nothing more to measure"; exit $bad; }
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 1; }

# ir FILE-FOR-OUTPUT [valgrind option] -- command: instructions collected
ir() {
	out=$1; shift
	opt=; while [ "$1" != -- ]; do opt="$opt $1"; shift; done; shift
	valgrind --tool=callgrind --callgrind-out-file=/dev/null $opt "$@" 2>"$T/vg" >"$out"
	sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$T/vg"
}

# say NAME VALUE BAR UNIT
say() {
	verdict=ok
	[ "$2" -le "$3" ] || { verdict=OVER; bad=1; }
	printf '%-46s %12s  at most %-10s %s  %s\n' "$1" "$2" "$3" "$4" "$verdict"
}

need() {	# need FILE FRAMES: the output has that many frames, the last _start
	have=$(grep -c '^0|[0-9]*|' "$1")
	[ "$have" = "$2" ] && [ "$(grep '^0|' "$1" | tail -1 | cut -d'|' -f4)" = _start ] ||
		{ echo "wrong frames in $1: $have"; exit 1; }
}

# --- cost of a frame: 708 frames minus 108, over 600 ---
slope() {	# slope NAME FORMAT BAR [valgrind option]
	name=$1 format=$2 bar=$3; shift 3
	for n in 100 700; do
		"$F" stack --format machine "$D/deep4_$n.dmp" -s "$D/symbols" --no-cache >"$T/m"
		need "$T/m" $((n + 8))
		eval "ir_$n=$(ir "$T/out" "$@" -- "$F" stack --format "$format" "$D/deep4_$n.dmp" \
			-s "$D/symbols" --cache "$T/frames")"
	done
	say "$name" $(((ir_700 - ir_100) / 600)) "$bar" instructions
}
# the first run fills the cache: loading is no part of a frame
"$F" stack "$D/deep4_100.dmp" -s "$D/symbols" --cache "$T/frames" >/dev/null
slope 'step (fw_walk_step), warm images' machine 120 --toggle-collect=fw_walk_step
slope 'up to the composed report (fw_report_create)' machine 1000 --toggle-collect=fw_report_create
slope 'whole process, machine' machine 2000
slope 'whole process, JSON' json 3500
# --- samples of a profiler: registers and stack copies, in process (tests/tools/walk_speed) ---
W=$BUILD/tests/tools/walk_speed
frames=$((7 * 2 * 64 * 30))	# more: passes x repetitions x samples x depth
for f in fw_walk_stack fw_walk_stacks; do
	once=$(ir "$T/out" --toggle-collect=$f -- "$W" 1 200 1)
	thrice=$(ir "$T/out" --toggle-collect=$f -- "$W" 1 200 3)
	say "a sample's frame, all in ($f)" $(((thrice - once) / frames)) 150 instructions
done
ns() { sed -n "s/^$1  *\([0-9]*\)\..*/\1/p" "$T/ns"; }
"$W" 64 200 >"$T/ns"
say 'a small program, warm' "$(ns warm)" 40 'ns a frame'
"$W" 256 50000 >"$T/ns"
say 'a large program, stacks from memory' "$(ns 'from memory')" 1000 'ns a frame'
say 'the same in turns (fw_walk_stacks)' "$(ns '... in turns')" 60 'ns a frame'

# --- loading, cache write included, and warm ---
S=$CORPUS/loading/crash-client.sym
bytes=$(wc -c <"$S")
cold=$(ir "$T/out" -- "$F" rules "$S" 0x4fe0f --cache "$T/load")
grep -q '^0x4fe0f: ' "$T/out" || { echo "wrong answer"; exit 1; }
say 'loading, hundredths of an instruction a byte' $((cold * 100 / bytes)) 1400 "($cold)"
warm=$(ir "$T/out" -- "$F" rules "$S" 0x4fe0f --cache "$T/load")
say 'the same, warm' "$warm" 3000000 instructions
warm=$(ir "$T/out" -- "$F" stack "$D/deep4_100.dmp" -s "$D/symbols" --cache "$T/frames")
say 'a dump of 8 modules, warm' "$warm" 3000000 instructions

# --- call frame information of one large library ---
L=$(ls /usr/lib/*-linux-gnu/libLLVM-14.so.1 2>/dev/null | head -1)
C=$BUILD/tests/bench/bench_cfi
if [ -n "$L" ] && [ -x "$C" ]; then
	set -- $("$C" "$L" rows)	# rows N table_us N libdw_us N
	rows=$2
	[ "$rows" -gt 0 ] || rows=860973	# as libdw counts them
	say 'CFI: decoding all rows, a row' $(($(ir "$T/out" --toggle-collect=bench_decode -- \
		"$C" "$L" decode) / rows)) 150 instructions
	say 'CFI: into the image, a row' $(($(ir "$T/out" --toggle-collect=fw_elf_cfi_into -- \
		"$C" "$L" table) / rows)) 300 instructions
	[ "$6" = 0 ] || say 'CFI: into the image, percent of a libdw row walk' $(($4 * 100 / $6)) 100 \
		"($4 of $6 us CPU)"
	set -- $("$C" "$L" random)	# random N mean_ns N first_ns N
	say 'CFI: one address to its row, mean of 200,000' "$4" 1000 ns
fi

# --- peak memory of loading, and a huge file ---
peak() {	# peak COMMAND...: maximal resident kilobytes
	python3 - "$@" <<'P'
import resource, subprocess, sys
p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
P
}
mb=${HUGE:-20}
python3 "$(dirname "$0")/gen_sym.py" "$mb" >"$T/huge.sym" || exit 1
kb=$(($(wc -c <"$T/huge.sym") / 1024))
say "peak of loading $mb MB, KiB" "$(peak "$F" rules "$T/huge.sym" 1000 --cache "$T/huge")" $((kb * 2 + 4096)) ''
first=$(ir "$T/out" -- "$F" rules "$T/huge.sym" 1000 --cache "$T/huge2")
warm=$(ir "$T/out" -- "$F" rules "$T/huge.sym" 1000 --cache "$T/huge2")
say "loading $mb MB, hundredths a byte" $((first * 100 / kb / 1024)) 1400 "($first)"
say "warm, hundredths of a percent of the first run" $((warm * 10000 / first)) 100 "($warm)"
[ -z "${HUGE:-}" ] || python3 "$(dirname "$0")/huge.py" "$F" "$T/huge.sym" "$T/huge3" || bad=1
exit $bad
