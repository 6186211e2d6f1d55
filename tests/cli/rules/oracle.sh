# needs: python3
python3 "$CASES/rules/oracle.py" "$FRAMEWALK" "$TESTDATA"/null/symbols/*/*/*.sym "$TESTDATA"/realign/symbols/*/*/*.sym
