#!/bin/sh
# Which way the stairs run: a file includes its own folder and the floors below
# it; nothing else, nothing in circles. Also: headers compile alone, libelf and
# libdwarf stay behind their door, and lib/ and symfiles/ neither print nor
# exit nor read the environment. Writes TAP. Run anywhere in the tree.
set -u
cd "$(dirname "$0")/../.." || exit 2
CC=${CC:-cc}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
count=0 failed=0

# result NAME: $tmp/bad holds what is wrong, one thing a line
result() {
	count=$((count + 1))
	if [ -s "$tmp/bad" ]; then
		failed=$((failed + 1))
		sed 's/^/# /' "$tmp/bad"
		echo "not ok - lint/stairs/$1"
	else
		echo "ok - lint/stairs/$1"
	fi
}

find lib symfiles cmd -name '*.[ch]' | LC_ALL=C sort > "$tmp/files"
headers=$(grep '\.h$' "$tmp/files")
library=$(grep -v '^cmd/' "$tmp/files")

# "file included" pairs of quoted includes
xargs awk '/^[ \t]*#[ \t]*include[ \t]*"/ { split($0, part, "\""); print FILENAME, part[2] }' \
	< "$tmp/files" > "$tmp/includes"

# Floors as ARCHITECTURE.md has them. symfiles and snapshot stand side by side.
awk '
BEGIN {
	floor["lib/base"] = 0; floor["lib/rules"] = 1; floor["lib/image"] = 2
	floor["lib/snapshot"] = 3; floor["symfiles"] = 3; floor["lib/walk"] = 4
	floor["lib/report"] = 5; floor["cmd"] = 6
}
function room(path) { sub(/\/[^\/]*$/, "", path); return path }
{
	from = room($1); to = room($2)
	if (!(from in floor)) print $1 ": a room that has no floor"
	else if (!(to in floor)) print $1 ": includes \"" $2 "\", which is in no room (write it from the root)"
	else if (from != to && floor[to] >= floor[from]) print $1 ": may not include " $2
	# A walk becomes a report in compose.c; the writers only read the report.
	if (from == "lib/report" && to == "lib/walk" && $1 !~ /\/(report\.h|compose[a-z_]*\.[ch]|names\.[ch])$/)
		print $1 ": may not include " $2 " (only compose.c turns walks into reports)"
}' "$tmp/includes" > "$tmp/bad"
result floors

cut -d ' ' -f 2 "$tmp/includes" | LC_ALL=C sort -u | while read -r file; do
	[ -f "$file" ] || echo "\"$file\" does not exist"
done > "$tmp/bad"
result exist

# tsort names the loops on standard error; a file that includes itself is left out by it.
{ awk '$1 == $2 { print $1 ": includes itself" }' "$tmp/includes"
  tsort "$tmp/includes" 2>&1 > /dev/null | sed 's/^tsort: //'; } > "$tmp/bad"
result circles

# file and library that it alone may use
door() {
	grep -n -E "^[ 	]*#[ 	]*include[ 	]*<$1>" $(cat "$tmp/files") /dev/null | grep -v -E "^$2:"
}
{ door '(libelf|gelf|elfutils/[a-z]*)\.h' 'symfiles/elf_[a-z_]*\.c'
  door '(libdwarf/)?(libdwarf|dwarf)\.h' 'symfiles/dwarf[a-z_]*\.[ch]'
  door '(zlib|libdeflate|zstd)\.h' '(lib/base/[a-z_]*|symfiles/elf_[a-z_]*)\.c'; } > "$tmp/bad"
result doors

for header in $headers; do
	echo "#include \"$header\"" |
		$CC -std=gnu11 -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -Wno-unused-parameter \
			-Wno-unused-function -fsyntax-only -x c - > "$tmp/log" 2>&1 ||
		{ echo "$header does not compile alone:"; head -n 3 "$tmp/log"; }
done > "$tmp/bad"
result headers

for header in $headers; do
	guard=FW_$(echo "${header%.h}" | sed 's,^lib/,,' | tr 'a-z/' 'A-Z_')_H
	grep -q "^#ifndef $guard\$" "$header" || echo "$header: guard is not $guard"
done > "$tmp/bad"
result guards

# Calls, not comments or names that contain the word. The loader's child is a process of its own.
grep -n -E '(^|[^a-zA-Z0-9_>."])(printf|vprintf|fprintf|vfprintf|puts|fputs|putchar|perror|exit|_exit|quick_exit|abort|getenv|secure_getenv|setenv|setlocale)[ 	]*\(' \
	$library /dev/null | grep -v -E ':[ 	]*(//|\*|/\*)|^symfiles/loader_child\.c:' > "$tmp/bad"
result silent

# Objects with static storage that can change: `static` outside a function, neither const nor a function.
grep -n -E '^(static |_Thread_local |static _Thread_local )' $library /dev/null |
	grep -v -E '[(]|:static (inline |const |[a-z_ ]*const )|\*const ' |
	grep -v -E '^lib/base/(arena\.c:[0-9]*:static uint64_t fail_countdown|out\.c:[0-9]*:static char nothing\[1\]);' > "$tmp/bad"
result globals

echo "1..$count"
[ $failed -eq 0 ]
