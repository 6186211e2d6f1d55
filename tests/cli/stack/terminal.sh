# On a terminal: colors, unless NO_COLOR is set or TERM says it cannot.
# needs: script
. "$CASES/lib.sh"
fixture null
esc=$(printf '\033')
run() { script -qec "$* '$FRAMEWALK' stack --no-cache --brief '$dump' $more" /dev/null | grep -c "$esc" | sed 's/^[1-9].*/some/'; }
more=
echo "xterm $(run TERM=xterm)"
echo "dumb $(run TERM=dumb)"
echo "none $(run env -u TERM)"
echo "NO_COLOR $(run TERM=xterm NO_COLOR=1)"
echo "empty NO_COLOR $(run TERM=xterm NO_COLOR=)"
more='-o file'
echo "file $(run TERM=xterm)"
grep -c "$esc" file
true
