# A report never replaces the capture it is of, by whatever name.
. "$CASES/lib.sh"
fixture null
cp "$dump" crash.dmp
ln crash.dmp other.dmp
"$FRAMEWALK" stack --no-cache crash.dmp -o crash.dmp; echo "status $?"
"$FRAMEWALK" stack --no-cache crash.dmp -o other.dmp; echo "status $?"
cmp "$dump" crash.dmp && echo untouched
