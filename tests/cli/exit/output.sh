# -o: the file appears whole or not at all, and nothing is left beside it.
. "$CASES/lib.sh"
fixture null
run() { "$FRAMEWALK" stack --no-cache --summary "$@"; echo "status $?"; }
umask 022
run "$dump" -o new; "$FRAMEWALK" stack --no-cache --summary "$dump" | cmp - new
stat -c %a new
echo old > kept; run nothing -o kept; cat kept
echo old > replaced; chmod 600 replaced; run "$dump" --output=replaced; cmp new replaced; stat -c %a replaced
echo old > target; ln -s target link; run "$dump" -o link; cmp new target; [ -L link ] && echo still a link
run nothing --json -o error.json; cat error.json
run "$dump" -o no/such/folder/file
run "$dump" -o .
run "$dump" -o - | head -n 1
run "$dump" -o /dev/null
ls -A
