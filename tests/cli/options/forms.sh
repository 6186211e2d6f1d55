# All forms of an option mean the same; options and operands mix; -- ends options.
. "$CASES/lib.sh"
fixture null
run() { "$FRAMEWALK" stack --no-cache "$@"; }
run "$dump" --symbols "$symbols" --threads crashing > a
run --symbols="$symbols" --threads=crashing "$dump" > b
run -s "$symbols" "$dump" --threads crashing > c
run -s"$symbols" --threads crashing -- "$dump" > d
run --symbols nowhere-yet --threads all --threads crashing -s "$symbols" "$dump" 2> err > e
run --json --format text -s "$symbols" --threads crashing "$dump" > f
for x in b c d e f; do cmp a $x; done
cat err
grep -c 'sum_accounts' a
# the last of --json and --format, of --cache and --no-cache counts
run --format text --json "$dump" | head -c 1; echo
"$FRAMEWALK" stack --cache "$PWD/kept" --no-cache "$dump" -s "$symbols" > /dev/null; ls -d kept 2>&1
"$FRAMEWALK" stack --no-cache --cache "$PWD/kept" "$dump" -s "$symbols" > /dev/null; ls -d kept
# a file whose name looks like an option
cp "$dump" ./--json
run -s "$symbols" --threads crashing -- --json | tail -n +2 > g
tail -n +2 a | cmp - g
