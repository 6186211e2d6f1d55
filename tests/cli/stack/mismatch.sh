# Symbols of another build of the program are named and not used.
. "$CASES/lib.sh"
fixture null
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s "$TESTDATA/fp" | sed -n '/^Thread/,$p'
"$FRAMEWALK" stack --no-cache --sysroot . --json "$dump" -s "$TESTDATA/fp" | grep -o '"missing_symbols":[a-z]*,"loaded_symbols".*"cfi_status":"[a-z]*"' |
	sed 's/"code_id".*//; s/,"cfi_status.*//'
