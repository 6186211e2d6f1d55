#!/bin/sh
# Records testdata/perf again: perf of Debian 12, any x86-64 Linux. Needs root for
# /opt/app, which then holds nothing but the program. What perf says of the machine
# (features) is overwritten; .script files are perf's own answer.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../perf
mkdir -p "$out" /opt/app
cc -O1 -g0 -ffile-prefix-map="$here"=. -o /opt/app/tiny "$here/src/tiny.c"
cd /opt/app
rec() {
	env -i PATH=/usr/bin perf record -q --no-buildid-cache -F 199 --call-graph dwarf,512 "$@" > /dev/null
}
rec -o file.data -- ./tiny
rec -z -o compressed.data -- ./tiny
rec -e cpu-clock:u -e page-faults:u -o two-events.data -- ./tiny
rec --user-regs=ip,sp,bp -e cpu-clock:u -o three-registers.data -- ./tiny
env -i PATH=/usr/bin perf record -q --no-buildid-cache -F 199 --call-graph dwarf,512 -o - -- ./tiny > pipe.data
for f in *.data; do
	python3 "$here/perf_blank.py" "$f"
	env -i PATH=/usr/bin perf script --ns -G -F comm,pid,tid,time,period,event,ip,uregs -i "$f" |
		sed 's/ *$//' > "${f%.data}.script"
	mv "$f" "${f%.data}.script" "$out/"
done
cp tiny "$out/"
rm -r /opt/app
