# Control bytes of file names never reach the terminal; a message stays one line.
. "$CASES/lib.sh"
fixture null
name=$(printf 'a\033[31m\nb\177\302\233c\377')
"$FRAMEWALK" stack --no-cache "$name"; echo "status $?"
"$FRAMEWALK" stack --no-cache --json "$name"; echo "status $?"
"$FRAMEWALK" stack "--$name"; echo "status $?"
"$FRAMEWALK" "$name"; echo "status $?"
"$FRAMEWALK" stack --format "$name" x; echo "status $?"
cp "$dump" "$name"
"$FRAMEWALK" stack --no-cache "$name" "$dump" > out; echo "status $?"
"$FRAMEWALK" inspect "$name" >> out; echo "status $?"
LC_ALL=C tr -d '\n -~' < out | od -An -tx1
