package zone

import "testing"

func TestMetadataAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"http://169.254.169.254/latest": true, "http://2852039166/": true, "0xA9FEA9FE": true, "http://0251.0376.0251.0376:80/": true, "169.254.43518": true,
		"http://[::ffff:169.254.169.254]/": true, "http://[fd00:ec2::254]/x": true, "http://u@metadata.google.internal./": true, "http://100.100.100.200": true,
		"http://localhost:8080": false, "https://example.com/169.254.169.254": false, "http://127.0.0.1": false, "": false, "http://1.2.3.4.5": false, "http://256": false,
	} {
		if got := Metadata(address); got != want {
			t.Errorf("%q: %t, want %t", address, got, want)
		}
	}
}
