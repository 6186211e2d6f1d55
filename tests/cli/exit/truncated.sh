# A mapped input that shrinks (SIGBUS) and an interrupted run: one line, no file left.
. "$CASES/lib.sh"
mkfifo pipe
for signal in BUS TERM; do
	"$FRAMEWALK" stack --no-cache - -o out < pipe &
	pid=$!
	exec 3> pipe
	i=0
	while ! ls .framewalk.* > /dev/null 2>&1 && [ $i -lt 100 ]; do sleep 0.05; i=$((i + 1)); done
	kill -s $signal $pid
	wait $pid 2> /dev/null
	echo "status $?"
	exec 3>&-
done
ls -A
