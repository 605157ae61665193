package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckName returns an error unless value is a valid name: not empty, at most 1024 bytes,
// and plain text.
func CheckName(what, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is empty", what)
	case len(value) > 1024:
		return fmt.Errorf("%s is longer than 1024 bytes", what)
	}
	return CheckPlain(what, value)
}

// CheckPlain returns an error for text that databases refuse. Empty text is allowed.
func CheckPlain(what, value string) error {
	if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
		return fmt.Errorf("%s %q is not plain text", what, value)
	}
	return nil
}

// CheckPriority returns an error unless p is a priority or zero.
func CheckPriority(p int) error {
	if p < 0 || p > PriorityIdle {
		return fmt.Errorf("priority %d is not between %d and %d", p, PriorityStop, PriorityIdle)
	}
	return nil
}

// CheckDelivery returns an error for an invalid delivery.
func CheckDelivery(d *Delivery) error {
	if d == nil {
		return errors.New("it is nil")
	}
	for _, err := range []error{
		CheckName("id", d.ID), CheckName("event", d.Event), CheckName("thread", d.Thread), CheckPlain("key", d.Key), CheckPlain("sender", d.Sender), CheckPriority(d.Priority),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}
