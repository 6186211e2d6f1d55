# Without -s, with an empty one, with code bytes only: what is printed says how it was found.
. "$CASES/lib.sh"
fixture realign
mkdir empty
"$FRAMEWALK" stack --no-cache --sysroot . --sysroot empty "$dump"
echo; echo '--- an empty folder'
"$FRAMEWALK" stack --no-cache --sysroot . --sysroot empty --brief "$dump" -s empty
echo; echo '--- the program'
"$FRAMEWALK" stack --no-cache --sysroot . --sysroot empty --brief "$dump" -s "$TESTDATA/realign/bin"
