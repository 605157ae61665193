package session

import (
	"bytes"
	"encoding/json"
)

// Frame of a line as [File] writes it: the numbers and the type, the payload, the
// hashes.
const (
	dataMark = `,"data":`
	prevMark = `,"prev":"`
	hashMark = `,"hash":"`
	hexLen   = 64 // length of a hash
	maxHead  = 400
)

// readLine decodes one stored line. The payload is nearly all of a line, and the JSON
// decoder would scan it three times. A line in the form written by this package is
// split by its frame, and its payload is validated once. The decoder handles all
// other lines, and all faults.
func readLine(line []byte) (Event, error) {
	if e, ok := framed(line); ok {
		return e, nil
	}
	var e Event
	err := json.Unmarshal(line, &e)
	return e, err
}

func framed(line []byte) (Event, bool) {
	at := bytes.Index(line[:min(len(line), maxHead)], []byte(dataMark))
	end := len(bytes.TrimRight(line, "\r\n")) - len(hashMark) - hexLen - len(`"}`)
	if at < 0 || end <= at || !bytes.HasPrefix(line[end:], []byte(hashMark)) {
		return Event{}, false
	}
	if prev := end - len(prevMark) - hexLen - 1; prev > at && bytes.HasPrefix(line[prev:], []byte(prevMark)) {
		end = prev
	}
	data := line[at+len(dataMark) : end]
	if len(data) == 0 || data[0] != '{' || data[len(data)-1] != '}' || !json.Valid(data) {
		return Event{}, false
	}
	rest := make([]byte, 0, maxHead+300)
	rest = append(append(append(rest, line[:at+len(dataMark)]...), "null"...), line[end:]...)
	var e Event
	if json.Unmarshal(rest, &e) != nil {
		return Event{}, false
	}
	e.Data = data[:len(data):len(data)]
	return e, true
}
