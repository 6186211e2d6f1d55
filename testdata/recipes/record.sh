#!/bin/sh
# Crashes the fixture programs for real and records each crash twice in the same
# process: a minidump by the Crashpad handler, and the true stacks by gdb.
#
# usage: record.sh [case ...]          (root, on Debian 12 amd64; all cases by default)
# HANDLER: chrome_crashpad_handler, from Debian's package chromium-common.
# OUT: where the case folders are written (default: the parent of this folder).
# Needs gcc gcc-multilib binutils gdb libc6-dbg python3 util-linux.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
HANDLER=${HANDLER:-/usr/lib/chromium/chrome_crashpad_handler}
OUT=${OUT:-$(dirname "$here")}

# case: source, gcc options, stack limit in KiB, argument of the program
cases() {
	cat <<-EOF
	null null.c -O2 8192 -
	threads threads.c -O2,-pthread 8192 -
	overflow overflow.c -O1 64 -
	deep deep.c -O1 8192 -
	jump-null jump.c -O2 8192 -
	jump-bad jump.c -O2 8192 bad
	libcall libcall.c -O2 8192 -
	abort abort.c -O2 8192 -
	divide divide.c -O2 8192 -
	signal-raise signal.c -O2 8192 -
	signal-trap signal.c -O2 8192 trap
	null-x86 null.c -O2,-m32 8192 -
	EOF
}

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
	[ "$argument" = - ] || set -- "$@" "$argument"
	ulimit -S -s "$limit"
	env -i setarch -R "$@" > "$work/log" 2>&1 || true
	find /opt/db -name '*.dmp' -exec cp {} "$work/crash.dmp" \;
}

record() {
	case=$1 source=$2 options=$(echo "$3" | tr , ' ') limit=$4 argument=$5
	name=${source%.c}
	work=$(mktemp -d)
	export case work HANDLER
	# shellcheck disable=SC2086
	(cd "$here/src" && gcc -std=gnu11 -g $options "-ffile-prefix-map=$here/src=/src" \
		-Wl,--build-id=sha1 -o "$work/$name" "$source" report.c)
	gcc -O2 -shared -fPIC -o "$work/release.so" "$here/src/release.c"
	unshare --mount --pid --uts --fork --mount-proc sh "$here/record.sh" --inside "$name" "$limit" "$argument"
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
	[ -z "${SYM-}" ] || python3 "$here/symbols.py" "$OUT/$case" "$work/$name"
	ls -l "$OUT/$case/crash.dmp" && wc -l "$OUT/$case/truth.txt"
	rm -rf "$work"
}

if [ "${1-}" = --inside ]; then
	shift
	inside "$@"
	exit
fi
cases | while read -r case source options limit argument; do
	[ $# -eq 0 ] || case " $* " in *" $case "*) ;; *) continue ;; esac
	record "$case" "$source" "$options" "$limit" "$argument" < /dev/null
done
