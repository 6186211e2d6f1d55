# needs: zstd
. "$CASES/lib.sh"
fixture null
zstd -qc "$dump" > x
"$FRAMEWALK" stack --no-cache --brief x -s "$symbols" | tail -n +2 > a
"$FRAMEWALK" stack --no-cache --brief "$dump" -s "$symbols" | tail -n +2 | cmp - a
