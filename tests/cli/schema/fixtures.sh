# needs: python3
# Real output of every form meets the schema, and no key of it may be missing or misspelt.
python3 -c 'import jsonschema' 2> /dev/null || { echo "no python3-jsonschema"; exit 77; }
n=0
for dump in "$TESTDATA"/*/crash.dmp; do
	n=$((n + 1))
	symbols=${dump%/*}/symbols
	[ -d "$symbols" ] || symbols=.
	"$FRAMEWALK" stack --json -s "$symbols" -o compact$n.json "$dump"
	"$FRAMEWALK" stack --json --pretty --registers --threads crashing -o pretty$n.json "$dump"
	"$FRAMEWALK" stack --json --summary -s "$symbols" -o summary$n.json "$dump"
done
echo nothing > no.dmp
"$FRAMEWALK" stack --format ndjson no.dmp "$dump" > lines.json 2> complaint
echo "status $?, $(wc -l < lines.json) lines"
python3 "$CASES/check_schema.py" --mutate "$CASES/../../cmd/framewalk.schema.json" ./*.json
