# Reports too large to wait in memory are written in turn all the same.
. "$CASES/lib.sh"
fixture overflow
i=0
while [ $i -lt 6 ]; do ln -s "$dump" $i.dmp; i=$((i + 1)); done
run() { "$FRAMEWALK" stack --no-cache --format ndjson --registers *.dmp -s "$symbols" "$@"; }
run -j 1 > a; run -j 64 > b
cmp a b
wc -l < a
[ "$(wc -c < a)" -gt $((6 << 20)) ] || echo "too small to test anything: $(wc -c < a)"
