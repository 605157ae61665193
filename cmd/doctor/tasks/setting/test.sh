# The server listens on 9090, and nothing else has changed.
wanted='name = clock
host = 0.0.0.0
port = 9090
timeout = 30'
if [ "$(cat server.conf)" = "$wanted" ]; then
  echo ok
  exit 0
fi
echo "FAIL: server.conf must have the line 'port = 9090' in place of the old port, and all its other lines"
exit 1
