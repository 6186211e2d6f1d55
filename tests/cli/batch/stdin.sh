# Standard input, plain and packed, is the same capture.
. "$CASES/lib.sh"
fixture null
run() { "$FRAMEWALK" stack --no-cache --format json -s "$symbols" "$@"; }
run - < "$dump" > a
cat "$dump" | run - > b
gzip -c "$dump" | run - > c
run "$dump" > d
for x in b c; do cmp a $x; done
sed "s|$dump|-|" d | cmp a -
"$FRAMEWALK" stack --no-cache --format ndjson "$dump" - "$dump" < "$dump" | wc -l
