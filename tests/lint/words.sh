#!/bin/sh
# Words that may not stand in the product: places of the machine it was written
# on, and names, ids and offsets of the corpus it is measured with (it would be
# measured against itself). Writes TAP; what needs $CORPUS is skipped without.
set -u
cd "$(dirname "$0")/../.." || exit 2
CORPUS=${CORPUS:-../shared/corpus}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
count=0 failed=0

# result NAME: $tmp/bad holds what is wrong, one thing a line
result() {
	count=$((count + 1))
	if [ -s "$tmp/bad" ]; then
		failed=$((failed + 1))
		sed 's/^/# /' "$tmp/bad"
		echo "not ok - lint/words/$1"
	else
		echo "ok - lint/words/$1"
	fi
}

skip() {
	count=$((count + 1))
	echo "ok - lint/words/$1 # SKIP no corpus"
}

find lib symfiles cmd -type f | LC_ALL=C sort > "$tmp/product"
find lib symfiles cmd tests Makefile ./*.md -type f ! -path 'tests/fuzz/corpus/*' ! -path 'tests/lint/*' |
	LC_ALL=C sort > "$tmp/sources"

# Absolute paths of somebody's machine. /usr, /etc, /proc, /dev and the like are everybody's.
xargs grep -n -I -E '(^|[^A-Za-z0-9_.$})~/-])/(home|root|Users|work|workspace|mnt|media|nix)/' < "$tmp/sources" > "$tmp/bad"
result paths

# Left-overs: notes to oneself without a reason, conflict marks, trailing blanks.
xargs grep -n -I -E '(^|[^A-Za-z])(XXX|FIXME|HACK)([^A-Za-z]|$)|^(<<<<<<<|>>>>>>>)|[ 	]$' < "$tmp/product" > "$tmp/bad"
result leftovers

# Lines have at most 100 columns, a tab being 8. Rooms that do not keep to it yet are only counted.
grep -E '\.[ch]$' "$tmp/sources" | xargs awk '
{
	line = $0; width = 0
	while ((at = index(line, "\t")) > 0) {
		width += at - 1; width += 8 - width % 8; line = substr(line, at + 1)
	}
	width += length(line)
	if (width > 100) print FILENAME ":" FNR ": " width " columns"
}' > "$tmp/wide"
grep '^cmd/' "$tmp/wide" > "$tmp/bad"
echo "# $(grep -c -v '^cmd/' "$tmp/wide") lines elsewhere have more than 100 columns"
result columns

grep -E '\.[ch]$' "$tmp/sources" | xargs wc -l | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines" }' > "$tmp/bad"
result lengths

if [ -d "$CORPUS" ]; then
	# Ids, anywhere in a path of the corpus or in its answers.
	{ find "$CORPUS" | grep -o -i -E '[0-9a-f]{24,40}'
	  cat "$CORPUS"/minidumps/*/*.out "$CORPUS"/README.md 2> /dev/null | grep -o -i -E '(^|[^0-9a-z])[0-9a-f]{24,40}' |
		tr -d -c '0-9A-Fa-f\n'; } | LC_ALL=C sort -u > "$tmp/ids"
	# File names, without ending, that are the corpus's own: not those of a system's libraries.
	find "$CORPUS" -path "$CORPUS/sysroot" -prune -o -type f -print | sed 's,.*/,,; s,\.[a-z]*$,,' |
		grep -E '^.{6,}$' | grep -v -i -E '^(lib|ld-|linux-vdso|readme|truth|a\.out|core$|breakpad$|microdump|minidump|eu-stack|gdb-bt|bp-)' |
		grep -v -x -E '[a-z]+' | LC_ALL=C sort -u > "$tmp/names"
	{ xargs grep -n -I -i -F -f "$tmp/ids"  < "$tmp/product"
	  xargs grep -n -I -F -f "$tmp/names" < "$tmp/product"; } > "$tmp/bad"
	result corpus-names

	# Offsets in the right answers, as numbers of the code. Round ones mean nothing.
	{ cat "$CORPUS"/README.md "$CORPUS"/cores/*/README 2> /dev/null | grep -o -E '0x[0-9a-f]{4,}'
	  cat "$CORPUS"/cores/*/truth.json 2> /dev/null | grep -o -E '0x[0-9a-f]{4,}'; } |
		grep -v -E '(00|ff|fff)$' | LC_ALL=C sort -u > "$tmp/offsets"
	xargs grep -o -i -E '0x[0-9a-f]{4,}' < "$tmp/product" | tr 'A-Z' 'a-z' |
		awk -F: 'NR == FNR { bad[$1] = 1; next } $2 in bad { print $1 ": " $2 }' "$tmp/offsets" - > "$tmp/bad"
	result corpus-offsets
else
	skip corpus-names
	skip corpus-offsets
fi

echo "1..$count"
[ $failed -eq 0 ]
