# greet.sh is read, not run: its last line prints the variable that is set above.
last=$(tail -n 1 greet.sh | tr -d '{}')
if [ "$last" = 'echo "Hello, $person"' ] && grep -q '^person=\$1$' greet.sh && [ "$(grep -c . greet.sh)" -eq 8 ]; then
  echo ok
  exit 0
fi
echo "FAIL: the last line of greet.sh must print \$person, and it is: $last"
exit 1
