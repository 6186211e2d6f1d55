. "$CASES/lib.sh"
try addr --help
