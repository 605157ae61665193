#!/bin/sh
# Greets the person whose name is given.
person=$1
if [ -z "$person" ]; then
  echo "usage: greet.sh NAME"
  exit 2
fi
echo "Hello, $persom"
