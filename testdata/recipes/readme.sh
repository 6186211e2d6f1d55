#!/bin/sh
# Renews the tables of ../README.md: what every case is, its command, and the
# size and SHA-256 of every file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
{
	sed '/^<!-- files -->$/q' README.md
	grep -v '^#' recipes/cases.txt |
	while IFS='|' read -r case source options limit argument symbols what; do
		# shellcheck disable=SC2016
		printf '\n### %s\n%s.\n`recipes/record.sh %s`: %s, %s, stack limit %s KiB%s%s.\n\n' \
			"$case" "$what" "$case" "$source" "$options" "$limit" \
			"${argument:+, argument \`$argument\`}" "${symbols:+, elf2sym.py $symbols}"
		printf '| file | bytes | sha256 |\n|---|---|---|\n'
		find "$case" -type f | LC_ALL=C sort | while read -r file; do
			printf '| %s | %s | %s |\n' "$file" "$(stat -c %s "$file")" \
				"$(sha256sum < "$file" | cut -d ' ' -f 1)"
		done
	done
	printf '\n### perf\nRecordings by perf of src/tiny.c, and what perf script says of them; opt/app is the folder.\n'
	printf '`recipes/perf.sh` records them again, `recipes/perf_blank.py` takes the machine out.\n\n'
	printf '| file | bytes | sha256 |\n|---|---|---|\n'
	find perf -type f | LC_ALL=C sort | while read -r file; do
		printf '| %s | %s | %s |\n' "$file" "$(stat -c %s "$file")" \
			"$(sha256sum < "$file" | cut -d ' ' -f 1)"
	done
} > README.new
mv README.new README.md
