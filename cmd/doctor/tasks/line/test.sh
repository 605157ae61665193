# prices.csv has a fourth item, and the other three as before.
wanted='apples,3
cherries,9
item,price
pears,4
plums,5'
if [ "$(head -n 1 prices.csv)" = item,price ] && [ "$(LC_ALL=C sort prices.csv | grep .)" = "$wanted" ]; then
  echo ok
  exit 0
fi
echo "FAIL: prices.csv must have its three items and the line 'pears,4'"
exit 1
