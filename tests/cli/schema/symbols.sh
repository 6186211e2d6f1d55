# needs: python3 gcc
# JSON of addr and syms check meets its schema, and no key may be missing or misspelt.
python3 -c 'import jsonschema' 2> /dev/null || { echo "no python3-jsonschema"; exit 77; }
. "$CASES/lib.sh"
inlined_program
first=$(nm app | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')
"$FRAMEWALK" addr -e app --json "$first" 0 ffffffffffffff > addresses.json
"$FRAMEWALK" addr -e app --json --pretty > none.json < /dev/null
"$FRAMEWALK" addr -e app --format ndjson "$first" 0 1000 > lines.json
"$FRAMEWALK" addr -e nothing --json 0 > error.json 2> /dev/null
mkdir store && echo "no symbols" > store/bad.sym && printf '\177ELF\2\1\1' > store/elf
"$FRAMEWALK" syms dump --store store app > /dev/null 2>&1
"$FRAMEWALK" syms check --json app store "$TESTDATA/null" > checked.json 2> /dev/null
"$FRAMEWALK" syms check --json --pretty "$TESTDATA/null-x86" > pretty.json
python3 "$CASES/check_schema.py" --mutate "$CASES/../../cmd/framewalk-symbols.schema.json" ./*.json
