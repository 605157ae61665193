#!/bin/sh
# Checks slug.sh against what is expected.
cd "$(dirname "$0")" || exit 1
failed=0

check() { # title slug
	got=$(sh slug.sh "$1")
	if [ "$got" = "$2" ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1: got '$got', want '$2'"
		failed=1
	fi
}

check "Hello World" "hello-world"
check "Hello, World" "hello-world"
check "  spaces  around  " "spaces-around"
check "Already-a-slug" "already-a-slug"
check "100 % sure?" "100-sure"
exit $failed
