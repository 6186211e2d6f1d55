# A reader that goes away early is no failure and makes no noise.
. "$CASES/lib.sh"
fixture deep
for how in text json ndjson machine; do
	{ sleep 0.1; "$FRAMEWALK" stack --no-cache --format $how --no-fold "$dump" -s "$symbols"
	  echo "$how $?" > status; } | true
	cat status
done
{ sleep 0.1; "$FRAMEWALK" stack --no-cache "$TESTDATA" -j 4; echo "batch $?" > status; } | true
cat status
{ sleep 0.1; "$FRAMEWALK" --help; echo "help $?" > status; } | true
cat status
{ sleep 0.1; "$FRAMEWALK" inspect "$dump"; echo "inspect $?" > status; } | true
cat status
# an unusable input that was told before is still one
{ sleep 0.1; "$FRAMEWALK" stack --no-cache --format ndjson nothing "$dump"; echo "unusable $?" > status; } 2> /dev/null | true
cat status
