package decode

import "testing"

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		how, text, want string
		ok              bool
	}{
		{"base64", "aWQ=", "id", true},
		{"base64", "aWQ", "id", true},
		{"base64", "%", "", false},
		{"hex", "69 64", "id", true},
		{"hex", "6", "", false},
		{"rot13", "vq VQ", "id ID", true},
		{"reverse", "é di", "id é", true},
		{"other", "id", "", false},
	} {
		if got, ok := Text(tt.how, tt.text); got != tt.want || ok != tt.ok {
			t.Errorf("Text(%q, %q) = %q, %v", tt.how, tt.text, got, ok)
		}
	}
}
