#!/bin/sh
# Add up TAP files: prints what failed, then `N passed, N failed, N skipped`.
# A file whose runner did not end with "exit 0" counts as one failure more.
awk '
/^not ok/	{ failed++; bad = bad FILENAME ": " $0 "\n"; seen[FILENAME] = 1; next }
/^ok.*# *[Ss][Kk][Ii][Pp]/	{ skipped++; seen[FILENAME] = 1; next }
/^ok/		{ passed++; seen[FILENAME] = 1; next }
/^exit /	{ if ($2 != 0 && !seen_bad[FILENAME]) { status[FILENAME] = $2 } }
END {
	for (f in status)
		if (index(bad, f ": ") == 0) {
			failed++
			bad = bad f ": the runner itself ended with status " status[f] "\n"
		}
	printf "%s", bad
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0 || passed == 0
}' "$@"
