# A directory is searched: captures only, sorted by path, links to folders not followed.
. "$CASES/lib.sh"
fixture null
mkdir -p d/b d/b.d 'd/z z'
cp "$dump" d/b/2.dmp
cp "$dump" d/b.d/1.dmp
cp "$dump" d/b.dmp
cp "$dump" 'd/z z/no extension'
gzip -c "$dump" > d/a.gz
echo text > d/readme.txt; : > d/empty; echo 'MDM' > d/short; gzip -c d/readme.txt > d/text.gz
head -c 1000 d/a.gz > d/cut.gz
ln -s . d/loop; ln -s b.dmp d/linked.dmp; ln -s nowhere d/dangling; mkfifo d/fifo
"$FRAMEWALK" stack --no-cache --summary d > out; echo "status $?"
grep '==>' out
"$FRAMEWALK" stack --no-cache --format ndjson --log-level info b.dmp d/ d/b > out; echo "status $?"
grep -c '"status":"OK"' out
mkdir hollow; echo text > hollow/x
"$FRAMEWALK" stack --no-cache hollow "$dump" > out; echo "status $?"
