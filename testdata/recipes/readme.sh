#!/bin/sh
# Renews the tables of ../README.md: what every case is, its command, and the
# size and SHA-256 of every file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
table() {
	printf '| file | bytes | sha256 |\n|---|---|---|\n'
	find "$1" -type f | LC_ALL=C sort | while read -r file; do
		printf '| %s | %s | %s |\n' "$file" "$(stat -c %s "$file")" "$(sha256sum < "$file" | cut -d ' ' -f 1)"
	done
}
{
	sed '/^<!-- files -->$/q' README.md
	grep -v '^#' recipes/cases.txt |
	while IFS='|' read -r case source options limit argument symbols what; do
		# shellcheck disable=SC2016
		printf '\n### %s\n%s.\n`recipes/record.sh %s`: %s, %s, stack limit %s KiB%s%s.\n\n' \
			"$case" "$what" "$case" "$source" "$options" "$limit" \
			"${argument:+, argument \`$argument\`}" "${symbols:+, elf2sym.py $symbols}"
		table "$case"
	done
	printf '\n### perf\nRecordings by perf of src/tiny.c, and what perf script says of them; opt/app is the folder.\n'
	printf '`recipes/perf.sh` records them again, `recipes/perf_blank.py` takes the machine out.\n\n'
	table perf
	printf '\n### stacks\nRecordings by perf of src/stacks.c: static, with .debug_frame only, 32 bits, run again by exec, and with\n'
	printf 'stacks cut off; what perf script (.script) and hotspot-perfparser (.libdw) say of them.\n'
	printf '`recipes/stacks.sh` records them again.\n\n'
	table stacks
} > README.new
mv README.new README.md
