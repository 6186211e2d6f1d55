# One bad capture of three: the two others are reported, in order.
. "$CASES/lib.sh"
fixture null
cp "$dump" a.dmp; echo broken > b.dmp; cp "$dump" c.dmp
"$FRAMEWALK" stack --no-cache a.dmp b.dmp c.dmp --summary -s "$symbols"; echo "status $?"
"$FRAMEWALK" stack --no-cache --format ndjson --summary a.dmp b.dmp c.dmp -s "$symbols" > out; echo "status $?"
sed 's/"reason".*/.../' out
