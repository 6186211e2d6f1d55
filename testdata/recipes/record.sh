#!/bin/sh
# Crashes the fixture programs for real and records each crash twice in the same
# process: a minidump by the Crashpad handler, and the true stacks by gdb.
#
# usage: record.sh [case ...]          (root, on Debian 12 amd64; all cases by default)
# HANDLER: chrome_crashpad_handler, from Debian's package chromium-common.
# OUT: where the case folders are written (default: the parent of this folder).
# Needs gcc g++ gcc-multilib binutils gdb libc6-dbg llvm-14 python3 util-linux.
# cases.txt lists the cases; readme.sh afterwards renews ../README.md.
# Options are lists of words.
# shellcheck disable=SC2086,SC3045
set -eu
here=$(cd "$(dirname "$0")" && pwd)
HANDLER=${HANDLER:-/usr/lib/chromium/chrome_crashpad_handler}
if [ ! -x "$HANDLER" ]; then
	echo "record.sh: no Crashpad handler at $HANDLER (set HANDLER)" >&2
	exit 1
fi
OUT=${OUT:-$(dirname "$here")}

# Runs inside new mount, pid and uts namespaces, so that paths, pids and names in
# the dump are the same on every machine.
inside() {
	name=$1 limit=$2 argument=$3
	hostname fixture
	mount -t tmpfs none /opt
	mkdir -p /opt/app /opt/db
	cp "$work/$name" /opt/app/
	cp "$HANDLER" /opt/handler
	cat > /opt/app/dump <<-EOF
	#!/bin/sh
	ulimit -S -s 8192
	exec env -i LD_PRELOAD=$work/release.so /opt/handler --database=/opt/db --no-rate-limit \
		--no-periodic-tasks --annotation=product=framewalk-fixture --annotation=case=$case \
		--trace-parent-with-exception=\$1
	EOF
	cat > /opt/app/truth <<-EOF
	#!/bin/sh
	ulimit -S -s 8192
	cd /
	TRUTH_OUT=$work/truth.txt TRUTH_INFO=\$1 exec gdb -nx -batch -p \$PPID -x $here/truth.py
	EOF
	chmod +x /opt/app/dump /opt/app/truth
	cd /opt/app
	set -- "/opt/app/$name"
	[ -z "$argument" ] || set -- "$@" "$argument"
	ulimit -S -s "$limit"
	env -i setarch -R "$@" > "$work/log" 2>&1 || true
	find /opt/db -name '*.dmp' -exec cp {} "$work/crash.dmp" \;
}

record() {
	case=$1 source=$2 options=$3 limit=$4 argument=$5 symbol_options=$6
	name=${source%.c*}
	work=$(mktemp -d)
	export case work HANDLER
	# Names and ids must not depend on where this is: /src stands for the folder.
	(
		cd "$here/src"
		set -- -g $options "-ffile-prefix-map=$here/src=/src"
		gcc -std=gnu11 "$@" -c -o "$work/report.o" report.c
		driver=gcc
		[ "${source%.cc}" = "$source" ] || driver=g++
		$driver "$@" -c -o "$work/program.o" "$source"
		cd "$work"
		$driver $options -Wl,--build-id=sha1 -o "$name" program.o report.o
	)
	gcc -O2 -shared -fPIC -o "$work/release.so" "$here/src/release.c"
	unshare --mount --pid --uts --fork --mount-proc \
		sh "$here/record.sh" --inside "$name" "$limit" "$argument"
	if [ ! -s "$work/crash.dmp" ] || [ ! -s "$work/truth.txt" ]; then
		cat "$work/log"
		echo "record.sh: case $case was not recorded" >&2
		exit 1
	fi
	rm -rf "${OUT:?}/$case"
	mkdir -p "$OUT/$case/bin"
	cp "$work/crash.dmp" "$work/truth.txt" "$OUT/$case/"
	chmod 644 "$OUT/$case/crash.dmp"
	strip -o "$OUT/$case/bin/$name" "$work/$name"
	python3 "$here/elf2sym.py" $symbol_options --store "$OUT/$case/symbols" "$work/$name"
	# Of the system's libraries only what the true stacks cross.
	grep -v ' /opt/' "$work/truth.txt.modules" | while read -r module library; do
		grep -q -F "$module+0x" "$work/truth.txt" || continue
		id=$(readelf -n "$library" | sed -n 's/.*Build ID: //p')
		debug=/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug
		[ -f "$debug" ] || debug=$library
		python3 "$here/elf2sym.py" --store "$OUT/$case/symbols" --truth "$work/truth.txt" \
			--debug "$debug" "$library"
	done
	python3 "$here/check.py" "$OUT/$case"
	echo "$case: $(stat -c %s "$OUT/$case/crash.dmp") bytes, $(wc -l < "$OUT/$case/truth.txt") lines"
	rm -rf "$work"
}

if [ "${1-}" = --inside ]; then
	shift
	inside "$@"
	exit
fi
grep -v '^#' "$here/cases.txt" |
while IFS='|' read -r case source options limit argument symbols _; do
	[ $# -eq 0 ] || case " $* " in *" $case "*) ;; *) continue ;; esac
	record "$case" "$source" "$options" "$limit" "$argument" "$symbols" < /dev/null
done
