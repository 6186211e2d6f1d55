# What may not be read in a directory is told; the rest is reported.
# needs: user
. "$CASES/lib.sh"
fixture null
mkdir d d/closed
cp "$dump" d/a.dmp; cp "$dump" d/b.dmp; chmod 0 d/b.dmp d/closed
"$FRAMEWALK" stack --no-cache --format ndjson d > out; echo "status $?"
wc -l < out
