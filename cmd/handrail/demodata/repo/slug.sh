#!/bin/sh
# Prints the slug of a title: lower case, words joined by single dashes.
# Results are kept in cache/, one file per title.
title=$1
dir=$(dirname "$0")
key=$(printf '%s' "$title" | cksum | cut -d' ' -f1)

if [ -f "$dir/cache/$key" ]; then
	cat "$dir/cache/$key"
	exit 0
fi

printf '%s\n' "$title" |
	tr '[:upper:]' '[:lower:]' |
	tr -c 'a-z0-9\n' '-'
