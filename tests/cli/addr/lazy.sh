# Read lazily or compiled, an address gets the same answer: as operands, from standard
# input at once and one by one, in JSON.
# needs: gcc
. "$CASES/lib.sh"
inlined_program
i=0
while [ $i -lt 800 ]; do printf '%x\n' $((0x1000 + i)); i=$((i + 1)); done > addresses
echo ffffffffffffffff >> addresses
for lazy in always never; do
	"$FRAMEWALK" addr -e app --no-cache --lazy $lazy $(cat addresses) > operands.$lazy
	"$FRAMEWALK" addr -e app --no-cache --lazy $lazy < addresses > input.$lazy
	sed -n '300,330p' addresses | while read -r a; do echo "$a"; sleep 0.001; done |
		"$FRAMEWALK" addr -e app --no-cache --lazy $lazy > slow.$lazy
	"$FRAMEWALK" addr -e app --no-cache --lazy $lazy --json < addresses > json.$lazy
done
for f in operands input slow json; do cmp $f.always $f.never; done
cmp operands.always input.always
grep -q 'inlined by outer' input.always && echo "calls are there"
"$FRAMEWALK" addr -e app --no-cache --lazy sometimes 1 2>&1
