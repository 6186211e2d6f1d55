#!/bin/sh
# Records testdata/stacks again: perf of Debian 12 and hotspot's perfparser (libdw), any
# x86-64 Linux with gcc-multilib. Needs root for /opt/app, which then holds nothing but
# the programs. .script is perf's own answer, .libdw perfparser's.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../stacks
mkdir -p "$out" /opt/app
cd /opt/app
build() {
	name=$1
	shift
	gcc -O1 -fno-stack-protector -nostdlib -static -Wl,--build-id -ffile-prefix-map="$here"=. "$@" \
		-o "$name" "$here/src/stacks.c"
}
build static -g0 -fno-pie -no-pie -Wl,--no-eh-frame-hdr
build frame -g -fno-pie -no-pie -fno-asynchronous-unwind-tables
build i386 -g0 -m32 -fno-pie -no-pie
build exec -g0 -fPIE -static-pie
rec() {
	name=$1 size=$2
	shift 2
	env -i PATH=/usr/bin perf record -q --no-buildid-cache -e cpu-clock:u -F 997 --call-graph "dwarf,$size" \
		-o "$name.data" -- "$@" > /dev/null
	python3 "$here/perf_blank.py" "$name.data"
	python3 "$here/../../tests/samples_right.py" --store "$name.data"
	mv "$name.data" "$name.script" "$name.libdw" "$out/"
}
rec static 1024 ./static
rec frame 1024 ./frame
rec i386 1024 ./i386
rec exec 1024 ./exec several
rec cut 128 ./static
cp static frame i386 exec "$out/"
rm -r /opt/app
