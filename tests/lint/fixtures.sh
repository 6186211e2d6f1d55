#!/bin/sh
# Checks testdata/: no file names the machine or the people it was made on, and
# every fixture is the one that testdata/README.md lists.
# usage: fixtures.sh [testdata]
set -u
cd "${1:-$(dirname "$0")/../../testdata}" || exit 2
status=0
list=$(mktemp)
trap 'rm -f "$list"' EXIT

complain() {
	echo "fixtures: $*" >&2
	status=1
}

# Fixed places of home and work folders, and what this machine is called. Short
# names are left out: they occur in any binary.
patterns='/root|/home/|/wor[k]/|/tmp/|/mnt/|/builds?/|/Users/|/workspace'
patterns="$patterns|@[a-z0-9-]+\.(com|org|net|local)"
for name in "$(uname -n)" "$(uname -r)" "$(cat /etc/machine-id 2>/dev/null)" \
	"${USER-}" "${LOGNAME-}" "${PWD%/testdata}"; do
	[ ${#name} -lt 5 ] || patterns="$patterns|$(printf %s "$name" | sed 's/[][\.*^$+?(){}|]/\\&/g')"
done

find . -type f ! -name '*.new' | sed 's,^\./,,' | LC_ALL=C sort > "$list"
while read -r file; do
	# -a: the whole file; s and l: 8-bit text and UTF-16.
	found=$({ strings -a -n 4 -e s "$file"; strings -a -n 4 -e l "$file"; } |
		grep -E -m 3 -e "$patterns")
	[ -z "$found" ] || complain "$file names a machine: $found"
done < "$list"

while IFS='|' read -r _ file size hash _; do
	file=$(echo "$file" | tr -d ' ') size=$(echo "$size" | tr -d ' ') hash=$(echo "$hash" | tr -d ' ')
	[ ${#hash} -eq 64 ] || continue
	if [ ! -f "$file" ]; then
		complain "$file is listed in README.md and missing"
	elif [ "$size" != "$(($(wc -c < "$file")))" ] ||
		[ "$hash" != "$(sha256sum < "$file" | cut -d ' ' -f 1)" ]; then
		complain "$file is not the file that README.md lists (run testdata/recipes/readme.sh)"
	fi
done < README.md

while read -r file; do
	case $file in
	recipes/* | README.md) continue ;;
	esac
	grep -q -F "| $file |" README.md ||
		complain "$file is not listed in README.md (run testdata/recipes/readme.sh)"
done < "$list"

# Symbols and truth agree, frame by frame.
if command -v python3 > /dev/null; then
	find . -name truth.txt -exec dirname {} + | LC_ALL=C sort | xargs python3 recipes/check.py >&2 ||
		complain "symbols and truth differ"
fi
exit $status
