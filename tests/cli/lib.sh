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
