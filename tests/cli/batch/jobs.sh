# The output is the same whatever the number of jobs.
. "$CASES/lib.sh"
for format in text ndjson; do
	for jobs in 1 2 8 64; do
		"$FRAMEWALK" stack --no-cache --format $format -j $jobs "$TESTDATA" -s "$TESTDATA" > $format.$jobs 2> $format.$jobs.err
		cmp $format.1 $format.$jobs
		cmp $format.1.err $format.$jobs.err
	done
done
find "$TESTDATA" -name '*.dmp' | wc -l | cmp - ndjson.count 2> /dev/null
[ "$(wc -l < ndjson.8)" -eq "$(find "$TESTDATA" -name '*.dmp' | wc -l)" ] && echo one line a capture
[ "$(grep -c '^==> ' text.8)" -eq "$(wc -l < ndjson.8)" ] && echo one header a capture
