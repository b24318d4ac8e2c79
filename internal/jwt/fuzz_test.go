package jwt

import (
	"strings"
	"testing"
)

// FuzzVerify: no text makes the parser fail, and none is good that a key has not signed. Only one
// text is a token: what is good is spelt as it would be spelt again.
func FuzzVerify(f *testing.F) {
	v := newVerifier(f, Options{Keys: []Key{keyOf(f, "HS256"), keyOf(f, "ES256"), keyOf(f, "EdDSA")}})
	good := map[string]bool{}
	for _, alg := range []string{"HS256", "ES256", "EdDSA"} {
		text := sign(f, alg, header(alg, ""), claims(`,"role":"a","aud":["b"],"sub":"ann"`))
		good[text] = true
		f.Add(text)
		f.Add(text[:len(text)-1])
		f.Add(strings.Replace(text, ".", "..", 1))
	}
	for _, text := range []string{"", ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "e30.e30.e30",
		encode([]byte(`{"alg":"HS256","crit":["b64"],"b64":false}`)) + ".e30.AA",
		encode([]byte(`{"alg":"HS256","alg":"none"}`)) + ".e30.AA",
		encode([]byte(`{"alg":"ES256","kid":"x","x":[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]}`)) + ".e30.AA"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := v.Verify(t.Context(), text); err == nil && !good[text] {
			t.Errorf("%q is good", text)
		}
		if tok, err := parse(text); err == nil {
			head, _, _ := strings.Cut(text, ".")
			if h, err := decode(head); err != nil || encode(h)+"."+encode(tok.payload)+"."+encode(tok.sig) != text {
				t.Errorf("%q has two spellings", text)
			}
		}
	})
}

// FuzzParseSet: no text makes the reader of sets fail, and a fetched set has no secret.
func FuzzParseSet(f *testing.F) {
	for _, alg := range Algorithms() {
		f.Add([]byte(`{"keys":[` + jwkOf(f, alg, `,"kid":"a","use":"sig","alg":"`+alg+`"`) + `]}`))
	}
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},{"kty":"RSA","n":"AA","e":"AA"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, _, err := ParseSet(text, nil, false)
		for _, k := range keys {
			if k.secret != nil || k.any || len(k.algs) == 0 || err != nil {
				t.Errorf("%q: %+v", text, k)
			}
		}
	})
}
