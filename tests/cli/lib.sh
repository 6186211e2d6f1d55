# Read by cases: . "$CASES/lib.sh"

# try ARGUMENT...: a command line, what it printed on both streams, its status
try() {
	echo "\$ framewalk $*"
	"$FRAMEWALK" "$@" 2>&1 < /dev/null
	echo "status $?"
}

# fixture NAME: its dump and symbols as $dump and $symbols
fixture() {
	dump=$TESTDATA/$1/crash.dmp symbols=$TESTDATA/$1/symbols
}

# inlined_program: app, compiled from a function with two inlined calls; ends the case without gcc
inlined_program() {
cat > app.c <<'END'
#include <stdio.h>
static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + printf("%d\n", x); }
static inline __attribute__((always_inline)) int outer(int x) { return inner(x) + 1; }
__attribute__((noinline)) int function(int x)
{
	return outer(x) * 2;
}
int main(int argc, char **argv)
{
	return function(argc) + argc;
}
END
gcc -g -O2 -o app app.c || { echo "gcc does not link"; exit 77; }
}
