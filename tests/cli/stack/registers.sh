# The same as text.
. "$CASES/lib.sh"
fixture null
"$FRAMEWALK" stack --no-cache --brief --registers "$dump" -s "$symbols"
