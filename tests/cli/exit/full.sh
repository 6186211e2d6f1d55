# A full disk and a closed standard output are failures, told in one line.
. "$CASES/lib.sh"
fixture null
[ -w /dev/full ] || { echo "no /dev/full"; exit 77; }
"$FRAMEWALK" stack --no-cache "$dump" > /dev/full; echo $?
"$FRAMEWALK" stack --no-cache "$dump" -o /dev/full; echo $?
"$FRAMEWALK" --help > /dev/full; echo $?
"$FRAMEWALK" completion zsh > /dev/full; echo $?
"$FRAMEWALK" stack --no-cache "$dump" >&-; echo $?
"$FRAMEWALK" stack --no-cache - <&-; echo $?
"$FRAMEWALK" stack --no-cache "$dump" 2>&- > out; echo $?
