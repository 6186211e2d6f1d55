. "$CASES/lib.sh"
try syms --help
