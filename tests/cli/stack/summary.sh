# The ten fields, as text and as JSON; without symbols; one line a capture.
. "$CASES/lib.sh"
fixture threads
try stack --no-cache --summary "$dump" -s "$symbols"
try stack --no-cache --summary --json "$dump" -s "$symbols"
try stack --no-cache --summary --json --pretty "$dump"
# captures whose symbols of libc are the same
mkdir some
for c in deep divide jump-null null overflow; do
	cp "$TESTDATA/$c/crash.dmp" some/$c.dmp
	set -- "$@" -s "$TESTDATA/$c/symbols"
done
try stack --no-cache --summary --format ndjson some "$@"
