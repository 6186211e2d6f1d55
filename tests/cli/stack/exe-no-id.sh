# A program without build id: -e alone says which it is, as far as the core's memory
# is not against it.
# needs: gcc gdb
cat > app.c <<'END'
#include <signal.h>
#include <stdlib.h>
__attribute__((noinline)) void inner(int n)
{
	if (n == 1)
		raise(SIGTRAP);
}
__attribute__((noinline)) void outer(int n)
{
	inner(n);
	inner(n + 1);
}
int main(int argc, char **argv)
{
	outer(argc);
	return 0;
}
END
for kind in -pie -no-pie "-static -no-pie"; do
	gcc -g -O1 -Wl,--build-id=none $kind -o app app.c || { echo "gcc does not link"; exit 77; }
	gdb -q -batch -ex run -ex 'generate-core-file core' ./app > gdb.log 2>&1
	[ -s core ] || { cat gdb.log; exit 77; }
	# it is not where the core says
	mv app moved
	"$FRAMEWALK" stack core --no-cache --brief 2>&1 | grep -c -e 'inner' -e 'outer' -e 'main '
	"$FRAMEWALK" stack core --no-cache --brief -e moved 2>&1 | grep -o -e 'inner .*app.c:[0-9]*' -e 'outer .*app.c:[0-9]*' \
		-e 'main .*app.c:[0-9]*' | sed 's/ .*app.c/ app.c/'
	# another program that lacks an id, too, of the same layout
	sed 's/n == 1/n <= 1 || n == 77/' app.c > other.c
	gcc -g -O1 -Wl,--build-id=none $kind -o other other.c
	"$FRAMEWALK" stack core --no-cache --brief -e other 2>&1 > out | sed 's/the capture.s program: .*/.../'
	rm -f core
done
