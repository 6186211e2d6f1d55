# needs: python3
# Every form of JSON that profiles take meets its schema, and no key may be missing or misspelt.
python3 -c 'import jsonschema' 2> /dev/null || { echo "no python3-jsonschema"; exit 77; }
print=${FRAMEWALK%/*}/tests/tools/print_profile
[ -x "$print" ] || { echo "no print_profile"; exit 77; }
for profile in small hostile deep events; do
	for format in json pretty ndjson summary-json; do
		"$print" $profile $format > $profile-$format.json
	done
done
python3 "$CASES/check_schema.py" --mutate "$CASES/../../cmd/framewalk-samples.schema.json" ./*.json
