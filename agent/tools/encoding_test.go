package tools_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/handrail-bot/handrail/agent/tools"
)

func TestEncodings(t *testing.T) {
	const german, chinese = "// Größe für Straße, été à la façon d'Ångström\nint x = 1;\n", "# 配置文件：中文注释，不要修改\nname = \"服务\"\n"
	must := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	latin := must(charmap.ISO8859_1.NewEncoder().Bytes([]byte(german)))
	for _, tt := range []struct {
		name, text string
		data       []byte
		form       string
	}{
		{"ascii", "x = 1\n", []byte("x = 1\n"), "UTF-8"},
		{"utf-8", german + chinese, []byte(german + chinese), "UTF-8"},
		{"latin 1", german, latin, "ISO-8859-1"},
		{"one character", "// für\n", []byte("// f\xfcr\n"), "ISO-8859-1"},
		{"windows", "// “Größe” – 5 €\n", must(charmap.Windows1252.NewEncoder().Bytes([]byte("// “Größe” – 5 €\n"))), "Windows-1252"},
		{"gbk", chinese, must(simplifiedchinese.GBK.NewEncoder().Bytes([]byte(chinese))), "GBK"},
		{"utf-16 le", german, must(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(german))), "UTF-16"},
		{"utf-16 be", chinese, must(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(chinese))), "UTF-16"},
		{"utf-16 le without a mark", german, must(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().Bytes([]byte(german))), "UTF-16LE"},
		{"utf-16 be without a mark", "x = 'ü'\r\n", must(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().Bytes([]byte("x = 'ü'\r\n"))), "UTF-16BE"},
		{"numbers", "a\x00b\x00\x01\x00c\x00", []byte("a\x00b\x00\x01\x00c\x00"), "UTF-8"},
		{"a record", "ab\x00\x00cd\x00\x00", []byte("ab\x00\x00cd\x00\x00"), "UTF-8"},
		{"half a character", "a\x00b\x00c", []byte("a\x00b\x00c"), "UTF-8"},
		{"a byte amiss in utf-8", german + "\xff\n", []byte(german + "\xff\n"), "UTF-8"},
		{"binary", "\x00\xe9\x01", []byte("\x00\xe9\x01"), "UTF-8"},
	} {
		text, form := tools.Decode(tt.data)
		if text != tt.text || form.Name() != tt.form {
			t.Errorf("%s: %q in %s", tt.name, text, form.Name())
		}
		if again, err := form.Encode(text); err != nil || string(again) != string(tt.data) {
			t.Errorf("%s: %q again (%v)", tt.name, again, err)
		}
	}
	_, form := tools.Decode(latin)
	if _, err := form.Encode(german + "// 5 €\n"); err == nil || !strings.Contains(err.Error(), `ISO-8859-1, which has no '€'`) {
		t.Errorf("an euro in Latin-1: %v", err)
	}
	// What is not known stays to the byte, and takes no new letters of another alphabet.
	for _, tt := range []struct {
		enc       encoding.Encoding
		text, new string
	}{
		{korean.EUCKR, "# 설정 파일\nx = 1\n", "# 파일\n"},
		{charmap.KOI8R, "# настройки сервера\nx = 1\n", "# сервер\n"},
		{charmap.Windows1251, "# ВНИМАНИЕ\nx = 1\n", "# сервер\n"},
		{charmap.ISO8859_5, "# Настройки\nx = 1\n", "# сервер\n"},
		{charmap.Windows1253, "# Ρυθμίσεις διακομιστή\nx = 1\n", "# сервер\n"},
		{japanese.ShiftJIS, "# 設定ファイル\nx = 1\n", "# ファイル\n"},
		{japanese.EUCJP, "# ファイルのせってい\nx = 1\n", "# ファイル\n"},
	} {
		data := must(tt.enc.NewEncoder().Bytes([]byte(tt.text)))
		text, form := tools.Decode(data)
		if again, err := form.Encode(text + "y = 2\n"); err != nil || string(again) != string(data)+"y = 2\n" {
			t.Errorf("%s: %q (%v)", tt.text, again, err)
		}
		if again, err := form.Encode(text + tt.new); err == nil {
			t.Errorf("%s as %s takes %q", tt.text, form.Name(), again)
		}
	}
}
