# The man page names every command, the exit statuses and the variables that are read.
page=${CASES%/tests/cli}/cmd/framewalk.1
for word in stack rules inspect addr syms help XDG_CACHE_HOME HOME NO_COLOR ndjson machine; do
	grep -q -w -e "$word" "$page" || echo "not in the man page: $word"
done
awk '/^\.SH "EXIT STATUS"/ { on = 1; next } /^\.SH/ { on = 0 } on && /^\.B [0-9]$/ { print $2 }' "$page"
# what cmd/ reads from the environment is told
grep -h -o "getenv(\"[A-Z_]*" \
	"${CASES%/tests/cli}"/cmd/*.c | cut -d "\"" -f 2 | LC_ALL=C sort -u | while read -r v; do
		grep -q -w -e "$v" "$page" && echo "$v" || echo "not told: $v"; done
