package page

import "testing"

func TestDecodePunycode(t *testing.T) {
	tests := map[string]string{ // RFC 3492, 7.1, and hosts that exist
		"ihqwcrb4cv8a8dqg056pqjye": "他们为什么不说中文", "Proprostnemluvesky-uyb24dma41a": "Pročprostěnemluvíčesky",
		"e1afmkfd": "пример", "80ak6aa92e": "аррӏе", "bcher-kva": "bücher", "p1ai": "рф",
	}
	for in, want := range tests {
		if got, err := decodePunycode(in); got != want || err != nil {
			t.Errorf("decodePunycode(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"99999999", "a-b!", "-", "zzzzzzzzzzzzzzzzzzzz", "é"} {
		if got, err := decodePunycode(in); err == nil {
			t.Errorf("decodePunycode(%q) = %q", in, got)
		}
	}
}

func TestTargetOf(t *testing.T) {
	tests := []struct {
		target string
		want   shown
	}{
		{"https://example.com/a?b#c", shown{Link: "https://example.com/a?b#c", Host: "example.com", Rest: "/a?b#c"}},
		{"https://example.com/", shown{Link: "https://example.com/", Host: "example.com"}},
		{"https://xn--e1afmkfd.xn--p1ai:8443/x", shown{Link: "https://xn--e1afmkfd.xn--p1ai:8443/x",
			Host: "пример.рф:8443", ASCII: "xn--e1afmkfd.xn--p1ai", Rest: "/x"}},
		{"https://xn--bcher-kva.example/", shown{Link: "https://xn--bcher-kva.example/", Host: "bücher.example",
			ASCII: "xn--bcher-kva.example"}},
		{"https://xn--80ak6aa92e.com/", shown{Link: "https://xn--80ak6aa92e.com/", Host: "xn--80ak6aa92e.com"}},
		{"https://xn--pple-43d.com/", shown{Link: "https://xn--pple-43d.com/", Host: "xn--pple-43d.com"}},
		{"https://xn--99999999.com/", shown{Link: "https://xn--99999999.com/", Host: "xn--99999999.com"}},
		{"javascript:alert(1)", shown{Rest: "javascript:alert(1)"}},
		{"ftp://example.com/", shown{Rest: "ftp://example.com/"}},
	}
	for _, tt := range tests {
		if got := targetOf(tt.target); got != tt.want {
			t.Errorf("targetOf(%q) = %+v, want %+v", tt.target, got, tt.want)
		}
	}
}

func FuzzDecodePunycode(f *testing.F) {
	for _, seed := range []string{"e1afmkfd", "bcher-kva", "80ak6aa92e", "99999999", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		if out, err := decodePunycode(encoded); err == nil && len(encoded) < 64 && len(out) > 4*64 {
			t.Errorf("%q became %d bytes", encoded, len(out))
		}
	})
}
