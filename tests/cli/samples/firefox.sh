# needs: python3
# By the published types of the front end; its own loader is asked by make check-consumers.
print=${FRAMEWALK%/*}/tests/tools/print_profile
[ -x "$print" ] || { echo "no print_profile"; exit 77; }
for profile in small hostile deep events 3000; do
	"$print" $profile firefox > $profile.json
done
python3 "$CASES/../consumers/check_firefox.py" small.json hostile.json deep.json events.json 3000.json
