# Help fits 90 columns and has no tabs or trailing blanks.
for c in '' stack rules inspect help; do
	"$FRAMEWALK" $c --help
done | awk 'length($0) > 90 || /\t/ || / $/'
