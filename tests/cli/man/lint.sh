# needs: groff
groff -man -ww -z "${CASES%/tests/cli}/cmd/framewalk.1" 2>&1
# no line so long that it wraps badly in a terminal of 80 columns, no trailing blanks
grep -n ' $' "${CASES%/tests/cli}/cmd/framewalk.1"
true
