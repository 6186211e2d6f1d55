# A symbol path that is not there is told and counts; missing symbols do not.
. "$CASES/lib.sh"
fixture null
mkdir nothing-in-it
try stack --no-cache --summary "$dump" -s nowhere -s "$symbols"
"$FRAMEWALK" stack --no-cache --summary "$dump" -s nothing-in-it > out; echo "status $?"
grep "^function:" out
