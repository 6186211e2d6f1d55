# needs: python3 corpus
# The same of captures that we did not make: Windows, macOS, no symbols.
python3 -c 'import jsonschema' 2> /dev/null || { echo "no python3-jsonschema"; exit 77; }
for folder in windows-x86 linux-inline linux-mini crashpad-mac; do
	for dump in "$CORPUS/minidumps/$folder"/*.dmp; do
		"$FRAMEWALK" stack --json -s "$CORPUS/minidumps/$folder" -o $folder.json "$dump"
	done
done
python3 "$CASES/check_schema.py" --mutate "$CASES/../../cmd/framewalk.schema.json" ./*.json
