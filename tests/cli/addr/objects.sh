# Relocatable objects: their addresses count from .text, as binutils' do with -j .text.
# No padding between functions, which binutils counts to the one before.
# needs: gcc addr2line readelf
cat > one.c <<'END'
#include <stdio.h>
static int inner(int x) { return x * 3 + printf("%d", x); }
__attribute__((noinline)) int function(int x) { return inner(x) + inner(x + 1); }
__attribute__((noinline)) void loop(int x) { for (int i = 0; i < x; i++) printf("%d", function(i)); }
int entry(int argc) { if (argc > 3) loop(argc); char b[argc]; return function(argc) + sprintf(b, "%d", argc); }
END
ln -s "$FRAMEWALK" addr2line
# compare FILE SECTION BYTES: names, inlined calls and lines of every third byte
compare() {
	i=0
	while [ $i -lt "$3" ]; do printf '0x%x\n' $i; i=$((i + 3)); done > addresses
	addr2line -j "$2" -e "$1" -f -i < addresses | sed "s/ (discriminator .*//" > theirs
	./addr2line -j "$2" -e "$1" -f -i < addresses | sed "s/ (discriminator .*//" > ours
	cmp theirs ours && echo "$1 $2: equal, $(grep -c '^function' ours | sed 's/^[1-9].*/some/') in function"
}
for how in "" -gdwarf-4 "-gz" "-ffunction-sections" "-fno-asynchronous-unwind-tables" "-mcmodel=large -fPIC"; do
	gcc -g -O2 -falign-functions=1 $how -c one.c -o one.o 2> /dev/null || { echo "gcc does not compile"; exit 77; }
	echo "one.o $how"
	case $how in
	-ffunction-sections) compare one.o .text.function 70; compare one.o .text.entry 100 ;;
	*) compare one.o .text 180 ;;
	esac
done
# several objects, as a kernel module is made
sed 's/function/second/g; s/loop/again/; s/entry/leave/' one.c > two.c
for part in one two; do
	gcc -g -O2 -falign-functions=1 -c $part.c && objcopy --set-section-alignment .text=1 $part.o
done
ld -r -o both.ko one.o two.o
compare both.ko .text 400
# every row where readelf sees one
readelf --debug-dump=frames-interp one.o | sed -n 's/^\(0000[0-9a-f]*\) rsp+\([0-9]*\) .*/\1 \2/p' > theirs
while read -r at cfa; do
	case $("$FRAMEWALK" rules one.o "0x$at") in
	*".cfa: \$rsp $cfa + "*) ;;
	*) echo "0x$at: not rsp+$cfa" ;;
	esac
done < theirs
"$FRAMEWALK" addr -e one.o 0x4
"$FRAMEWALK" syms dump one.o | grep -e '^MODULE' -e '^FUNC' | sed 's/ [0-9a-f]* 0 / ... /; s/[0-9A-F]\{33\}/ID/'
