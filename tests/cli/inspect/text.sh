# The text says what the JSON says; nothing in it can steer a terminal.
. "$CASES/lib.sh"
fixture threads
"$FRAMEWALK" inspect "$dump" > out; echo "status $?"
"$FRAMEWALK" inspect - < "$dump" | tail -n +2 > b; tail -n +2 out | cmp - b
for title in System Exception Streams Threads Modules Memory Annotations; do
	grep -q "^$title" out || echo "no $title"
done
"$FRAMEWALK" inspect "$dump" -o file; cmp out file
LC_ALL=C grep -c "[^ -~]" out || true
