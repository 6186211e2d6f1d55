# Unusable inputs: one line each on standard error, status 1, the others reported.
. "$CASES/lib.sh"
fixture null
: > empty
echo 'no dump at all' > text
head -c 100 "$dump" > cut
gzip -c "$dump" | head -c 1000 > cut.gz
mkdir folder
for f in nothing empty text cut cut.gz folder /dev/null; do
	try stack --no-cache $f
	try inspect $f
done
echo '--- json'
for f in nothing empty text cut; do
	try stack --no-cache --json $f
	try inspect --json $f
done
try stack --no-cache --json --pretty nothing
try rules --no-cache nothing 0
try rules --no-cache --json nothing 0
try stack --no-cache --threads 4294967295 "$dump"
try stack --no-cache --threads '#99' --json "$dump"
