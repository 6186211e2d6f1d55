# --json is --format json; ndjson of one capture is the same line; --pretty the same data.
# needs: python3
. "$CASES/lib.sh"
fixture threads
run() { "$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s "$symbols" "$@"; }
run --json > a; run --format json > b; run --format ndjson > c; run --json --pretty > d
cmp a b; cmp a c; wc -l < a
python3 -c 'import json; print(json.load(open("a")) == json.load(open("d")))'
run > e; run --format text > f; cmp e f
run --summary --json > g; run --summary --format ndjson > h; cmp g h
python3 -c 'import json; print(list(json.load(open("g"))))'
run --summary | sed 's/:.*//'
