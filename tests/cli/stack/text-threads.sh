# Six threads, the crashed one first, three equal ones as one.
. "$CASES/lib.sh"
fixture threads
"$FRAMEWALK" stack --no-cache --sysroot . "$dump" -s "$symbols"
