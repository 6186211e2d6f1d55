# What CFI recovers of each caller's registers; the others are left out.
. "$CASES/lib.sh"
fixture null
"$FRAMEWALK" stack --no-cache --sysroot . --json --registers --threads crashing "$dump" -s "$symbols" |
	sed 's/,"threads":.*//' | grep -o '"frame":[0-9]*\|"registers":{[^}]*}'
