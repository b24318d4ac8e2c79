package jwt

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	other "github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// Every algorithm verifies what another implementation has signed, by a key in PEM form, by a secret
// and by a set. A token that is one bit different is refused.
func TestVerify_EveryAlgorithm(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg, func(t *testing.T) {
			made, err := other.NewWithClaims(other.GetSigningMethod(alg), other.MapClaims{
				"exp": now.Unix() + 600, "role": "editor", "sub": "ann"}).SignedString(signers()[alg])
			if err != nil {
				t.Fatal(err)
			}
			set, refused, err := ParseSet([]byte(`{"keys":[`+jwkOf(t, alg, "")+`]}`), []string{alg}, true)
			if err != nil || len(refused) > 0 {
				t.Fatal(err, refused)
			}
			for n, key := range []Key{keyOf(t, alg), set[0]} {
				v := newVerifier(t, Options{Keys: []Key{key}})
				c := wantVerified(t, v, "good", made, nil)
				d := cmp.Diff([]string{"editor"}, c.Roles)
				if d != "" || c.Until != now.Unix()+600 || len(c.Holder) != 32 {
					t.Errorf("%+v %s", c, d)
				}
				wantVerified(t, v, "own", sign(t, alg, header(alg, ""), claims("")), nil)
				for i := n; i < len(made); i += 11 {
					bad := []byte(made)
					if bad[i] ^= 1; bad[i] == '.' {
						continue
					}
					if _, err := v.Verify(t.Context(), string(bad)); err == nil {
						t.Fatalf("another byte at %d of %d is good", i, len(made))
					}
				}
				for other := range signers() {
					if other != alg { // with the right key where there is one, by another method
						wantVerified(t, v, other, sign(t, other, header(other, ""), claims("")), Algorithm)
						wantVerified(t, v, "as "+alg+", signed by "+other,
							sign(t, other, header(alg, ""), claims("")), Signature)
					}
				}
			}
		})
	}
}

// Who knows the public key can sign with it as a secret, in any form of it, say that no signature
// is needed, or bring a key along. Nothing of this is good.
func TestVerify_ConfusedAlgorithms(t *testing.T) {
	v := newVerifier(t, Options{Keys: []Key{keyOf(t, "RS256"), keyOf(t, "ES256"), keyOf(t, "EdDSA")}})
	block, _ := pem.Decode([]byte(publicPEM(t, "RS256")))
	rsaKey := signers()["RS256"].(*rsa.PrivateKey)
	for _, secret := range [][]byte{
		[]byte(publicPEM(t, "RS256")), []byte(strings.TrimSpace(publicPEM(t, "RS256"))), block.Bytes,
		[]byte(jwkOf(t, "RS256", "")), rsaKey.N.Bytes(), x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey),
		[]byte(publicPEM(t, "ES256")), []byte(publicPEM(t, "EdDSA")), {},
	} {
		for _, alg := range []string{"HS256", "HS384", "HS512"} {
			for _, as := range []string{alg, "RS256", "ES256", "EdDSA"} {
				signed := encode([]byte(header(as, ""))) + "." + encode([]byte(claims("")))
				want := Signature
				if as == alg {
					want = Algorithm
				}
				wantVerified(t, v, alg+" as "+as, signed+"."+encode(signature(t, alg, secret, signed)), want)
			}
		}
	}
	for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "HS1", "RS1", "rs256", "ES256K", "A128KW", "dir"} {
		head := encode([]byte(header(alg, ""))) + "." + encode([]byte(claims("")))
		for _, sig := range []string{"", "AA", encode([]byte("x"))} {
			if _, err := v.Verify(t.Context(), head+"."+sig); err == nil {
				t.Errorf("alg %q with signature %q is good", alg, sig)
			}
		}
	}
	mine, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{
		fmt.Sprintf(`,"jwk":{"kty":"RSA","n":"%s","e":"AQAB"}`, encode(mine.N.Bytes())),
		`,"jku":"https://attacker.example/jwks.json"`, `,"x5u":"https://attacker.example/cert"`,
		`,"x5c":["` + encode(block.Bytes) + `"]`, `,"x5t":"AA"`,
	} {
		signed := encode([]byte(header("RS256", more))) + "." + encode([]byte(claims("")))
		wantVerified(t, v, more, signed+"."+encode(signature(t, "RS256", mine, signed)), Signature)
		wantVerified(t, v, more+", signed well", sign(t, "RS256", header("RS256", more), claims("")), nil)
	}
}

// A header has one reading, and changes nothing of how the signature is checked.
func TestVerify_Headers(t *testing.T) {
	v := newVerifier(t, Options{Keys: []Key{keyOf(t, "HS256")}})
	for text, want := range map[string]error{
		`{"alg":"HS256"}`:                                          nil,
		`{"alg":"HS256","typ":"jwt"}`:                              nil,
		`{"alg":"HS256","typ":"at+jwt"}`:                           nil,
		`{"alg":"HS256","typ":"application/at+JWT"}`:               nil,
		` { "alg" : "HS256" } `:                                    nil,
		`{"alg":"HS256","x":{"a":1}}`:                              nil,
		`{"alg":"HS256","typ":"JWE"}`:                              Malformed,
		`{"alg":"HS256","typ":"logout+jwt"}`:                       Malformed,
		`{"alg":"HS256","typ":["JWT"]}`:                            Malformed,
		`{"alg":"HS256","typ":null}`:                               Malformed,
		`{"alg":"HS256","crit":["exp"]}`:                           Malformed,
		`{"alg":"HS256","crit":[]}`:                                Malformed,
		`{"alg":"HS256","b64":true}`:                               Malformed,
		`{"alg":"HS256","b64":false,"crit":["b64"]}`:               Malformed,
		`{"alg":"HS256","alg":"HS256"}`:                            Malformed,
		`{"alg":"none","alg":"HS256"}`:                             Malformed,
		`{"alg":"HS256","\u0061lg":"HS256"}`:                       Malformed,
		`{"alg":"HS256","x":{"a":1,"a":1}}`:                        Malformed,
		`{"alg":"HS256"}x`:                                         Malformed,
		`{"alg":"HS256"}{}`:                                        Malformed,
		`[{"alg":"HS256"}]`:                                        Malformed,
		`{"alg":["HS256"]}`:                                        Malformed,
		`{"alg":256}`:                                              Malformed,
		`{"typ":"JWT"}`:                                            Malformed,
		`{"ALG":"HS256"}`:                                          Malformed,
		`{}`:                                                       Malformed,
		`null`:                                                     Malformed,
		`{"alg":"HS256","kid":5}`:                                  Malformed,
		`{"alg":"HS256","kid":""}`:                                 Malformed,
		`{"alg":"HS256","kid":null}`:                               Malformed,
		`{"alg":"HS256","kid":"` + strings.Repeat("k", 257) + `"}`: Malformed,
		"{\"alg\":\"HS256\",\"x\":\"\xff\"}":                       Malformed,
		`{"alg":"HS256","x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`: Malformed,
	} {
		wantVerified(t, v, text, sign(t, "HS256", text, claims("")), want)
	}
}

// What is no JWS in compact form is refused before any key is looked at.
func TestVerify_Forms(t *testing.T) {
	v := newVerifier(t, Options{Keys: []Key{keyOf(t, "HS256")}})
	good := sign(t, "HS256", header("HS256", ""), claims(""))
	wantVerified(t, v, "good", good, nil)
	head, rest, _ := strings.Cut(good, ".")
	body, sig, _ := strings.Cut(rest, ".")
	for _, text := range []string{
		"", ".", "..", "...", good + ".", "." + good, good + ".x", head + "." + body, head + ".." + sig,
		"." + body + "." + sig, head + "." + body + ".", good + "=", head + "=." + body + "." + sig,
		good + "\n", head + "\n." + body + "." + sig, head + "." + body + "\r." + sig, " " + good, good + " ",
		head + ". " + body + "." + sig, strings.Replace(good, ".", ",", 1),
		head + "." + body + "." + sig + "." + sig + "." + sig, `{"payload":"` + body + `"}`,
		good + strings.Repeat("A", maxToken),
	} {
		wantVerified(t, v, fmt.Sprintf("%.60q", text), text, Malformed)
	}
	// The last character of a signature of 32 bytes has two bits that are not used.
	for c := byte('A'); c <= 'Z'; c++ {
		if text := good[:len(good)-1] + string(c); text != good {
			if _, err := v.Verify(t.Context(), text); err == nil {
				t.Errorf("a second spelling of the signature is good: %q", c)
			}
		}
	}
	large := sign(t, "HS256", header("HS256", ""), claims(`,"x":"`+strings.Repeat("x", maxToken)+`"`))
	wantVerified(t, v, "large", large, Malformed)
}

func TestVerify_Claims(t *testing.T) {
	at := now.Unix()
	for _, tt := range []struct {
		o       Expected
		payload string
		want    error
	}{
		{Expected{}, `{}`, BadClaims},
		{Expected{Endless: true}, `{}`, nil},
		{Expected{}, fmt.Sprintf(`{"exp":%d}`, at+1), nil},
		{Expected{}, fmt.Sprintf(`{"exp":%d}`, at), Expired},
		{Expected{}, fmt.Sprintf(`{"exp":%d.5}`, at), nil},
		{Expected{}, `{"exp":9.9e9}`, nil},
		{Expected{}, `{"exp":-1}`, Expired},
		{Expected{Endless: true}, `{"exp":1}`, Expired},
		{Expected{}, `{"exp":1e300}`, BadClaims},
		{Expected{}, `{"exp":1e999}`, BadClaims},
		{Expected{}, fmt.Sprintf(`{"exp":"%d"}`, at+9), BadClaims},
		{Expected{}, `{"exp":null}`, BadClaims},
		{Expected{Endless: true}, `{"exp":null}`, BadClaims},
		{Expected{}, `{"exp":true}`, BadClaims},
		{Expected{}, fmt.Sprintf(`{"exp":[%d]}`, at+9), BadClaims},
		{Expected{}, fmt.Sprintf(`{"exp":1,"exp":%d}`, at+9), BadClaims},
		{Expected{Leeway: 30 * time.Second}, fmt.Sprintf(`{"exp":%d}`, at-29), nil},
		{Expected{Leeway: 30 * time.Second}, fmt.Sprintf(`{"exp":%d}`, at-30), Expired},
		{Expected{}, claims(fmt.Sprintf(`,"nbf":%d`, at)), nil},
		{Expected{}, claims(fmt.Sprintf(`,"nbf":%d`, at+1)), Early},
		{Expected{Leeway: time.Second}, claims(fmt.Sprintf(`,"nbf":%d`, at+1)), nil},
		{Expected{}, claims(`,"nbf":"0"`), BadClaims},
		{Expected{}, claims(fmt.Sprintf(`,"iat":%d`, at+1)), Early},
		{Expected{}, claims(`,"iat":{}`), BadClaims},
		{Expected{}, claims(`,"iss":5`), BadClaims},
		{Expected{}, claims(`,"sub":5`), BadClaims},
		{Expected{Issuer: "i"}, claims(``), Issuer},
		{Expected{Issuer: "i"}, claims(`,"iss":"i/"`), Issuer},
		{Expected{Issuer: "i"}, claims(`,"iss":["i"]`), BadClaims},
		{Expected{Issuer: "i"}, claims(`,"iss":"i"`), nil},
		{Expected{Audience: []string{"a", "b"}}, claims(``), Audience},
		{Expected{Audience: []string{"a", "b"}}, claims(`,"aud":[]`), Audience},
		{Expected{Audience: []string{"a", "b"}}, claims(`,"aud":"c"`), Audience},
		{Expected{Audience: []string{"a", "b"}}, claims(`,"aud":"b"`), nil},
		{Expected{Audience: []string{"a", "b"}}, claims(`,"aud":["c","b"]`), nil},
		{Expected{Audience: []string{"a", "b"}}, claims(`,"aud":["b",5]`), BadClaims},
		{Expected{Audience: []string{"a", "b"}}, claims(`,"aud":{"b":1}`), BadClaims},
		{Expected{}, claims(`,"aud":5`), BadClaims},
		{Expected{}, claims(`,"role":5`), BadClaims},
		{Expected{}, claims(`,"role":["a",null]`), BadClaims},
		{Expected{}, claims(`,"role":{"a":1}`), BadClaims},
		{Expected{}, claims(`,"role":null`), nil},
		{Expected{}, `[1]`, BadClaims},
		{Expected{}, `"text"`, BadClaims},
		{Expected{}, claims(``) + claims(``), BadClaims},
		{Expected{}, claims(``) + "\x00", BadClaims},
	} {
		v := newVerifier(t, Options{Keys: []Key{keyOf(t, "HS256")}, Expected: tt.o})
		wantVerified(t, v, tt.payload, sign(t, "HS256", header("HS256", ""), tt.payload), tt.want)
	}
}

func TestVerify_Roles(t *testing.T) {
	for _, tt := range []struct {
		path, payload string
		want          []string
	}{
		{"role", `,"role":"a"`, []string{"a"}},
		{"role", `,"role":["a","b"]`, []string{"a", "b"}},
		{"role", `,"role":""`, nil},
		{"role", `,"Role":"a"`, nil},
		{"role", `,"role":"` + strings.Repeat("r", 65) + `"`, nil},
		{"app_metadata.role", `,"app_metadata":{"role":"a"},"role":"b"`, []string{"a"}},
		{"app_metadata.role", `,"app_metadata":"role"`, nil},
		{"realm_access.roles", `,"realm_access":{"roles":["a"]}`, []string{"a"}},
		{`"https://id.example/roles"`, `,"https://id.example/roles":["a"]`, []string{"a"}},
		{`a."b.c".d`, `,"a":{"b.c":{"d":"x"}}`, []string{"x"}},
	} {
		path, err := ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		v := newVerifier(t, Options{Keys: []Key{keyOf(t, "HS256")}, Expected: Expected{Role: path}})
		c := wantVerified(t, v, tt.payload, sign(t, "HS256", header("HS256", ""), claims(tt.payload)), nil)
		if !slices.Equal(c.Roles, tt.want) {
			t.Errorf("%s of %s: %v, want %v", tt.path, tt.payload, c.Roles, tt.want)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", `"a`, `"a"b`, `""`, "user_metadata.role",
		`x."user_metadata"`, "user_metadata"} {
		if path, err := ParsePath(bad); err == nil {
			t.Errorf("%q is the path %q", bad, path)
		}
	}
}

// Holders are told apart by issuer and subject, and by nothing else where there is a subject.
func TestVerify_Holders(t *testing.T) {
	v := newVerifier(t, Options{Keys: []Key{keyOf(t, "HS256")}})
	holder := func(more string) string {
		return wantVerified(t, v, more, sign(t, "HS256", header("HS256", ""), claims(more)), nil).Holder
	}
	if holder(`,"sub":"ann"`) != holder(`,"jti":"2","sub":"ann"`) {
		t.Error("two tokens of one subject have two holders")
	}
	seen := make(map[string]bool)
	for _, more := range []string{`,"sub":"ann"`, `,"sub":"bob"`, `,"sub":"ann","iss":"i"`, ``, `,"jti":"1"`} {
		if h := holder(more); seen[h] || strings.Contains(h, "ann") {
			t.Errorf("%s: holder %s", more, h)
		} else {
			seen[h] = true
		}
	}
}

// A kid chooses among keys by being equal, and leads nowhere.
func TestVerify_Kids(t *testing.T) {
	set := func(more string) []Key {
		keys, refused, err := ParseSet([]byte(`{"keys":[`+jwkOf(t, "ES256", `,"kid":"a"`)+`,`+
			jwkOf(t, "RS256", `,"kid":"b"`)+more+`]}`), nil, true)
		if err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		return keys
	}
	v := newVerifier(t, Options{Keys: set("")})
	of := func(alg, kid string) string { return sign(t, alg, header(alg, `,"kid":"`+kid+`"`), claims("")) }
	wantVerified(t, v, "its own", of("ES256", "a"), nil)
	wantVerified(t, v, "that of another", of("ES256", "b"), Algorithm)
	wantVerified(t, v, "none", sign(t, "ES256", header("ES256", ""), claims("")), nil)
	for _, kid := range []string{"A", "a ", "../../dev/null", "/dev/null", "a' OR '1'='1", "a; id", "http://127.0.0.1/",
		"%61", "a\\u0000"} {
		wantVerified(t, v, kid, of("ES256", kid), UnknownKey)
	}
	v = newVerifier(t, Options{Keys: append(set(""), keyOf(t, "HS256"))})
	wantVerified(t, v, "a key of the configuration fits any", of("HS256", "whatever"), nil)
	wantVerified(t, v, "but not by another method", of("EdDSA", "whatever"), Algorithm)
}

// Good tokens are remembered until they end, or other keys count; bad ones are not.
func TestVerifier_Remembers(t *testing.T) {
	at := now
	v := newVerifier(t, Options{Keys: []Key{keyOf(t, "HS256")}, Now: func() time.Time { return at }})
	good := sign(t, "HS256", header("HS256", ""), claims(""))
	if _, ok := v.Known(good, at); ok {
		t.Error("it is known before it was asked for")
	}
	wantVerified(t, v, "good", good, nil)
	wantVerified(t, v, "again", good, nil)
	if _, ok := v.Known(good, at); !ok || v.Stats().Good != 1 {
		t.Errorf("it was verified %d times", v.Stats().Good)
	}
	if _, ok := v.Known(good, at.Add(10*time.Minute)); ok {
		t.Error("it is known when it has ended")
	}
	at = at.Add(10 * time.Minute)
	wantVerified(t, v, "later", good, Expired)
	at = now
	bad := sign(t, "HS512", header("HS256", ""), claims(""))
	wantVerified(t, v, "bad", bad, Signature)
	if _, ok := v.Known(bad, at); ok {
		t.Error("a bad one is known")
	}
	old := v.Keys()
	if !v.replace([]Key{keyOf(t, "HS384")}) || v.Keys() == old {
		t.Error("other keys are the same keys")
	}
	wantVerified(t, v, "by other keys", good, Algorithm)
	if v.replace([]Key{keyOf(t, "HS384")}) {
		t.Error("the same keys are other keys")
	}
	for i := range remembered + 10 {
		v.remember(fmt.Sprint(i), known{by: v.Keys()})
	}
	if len(v.known) > remembered {
		t.Errorf("%d tokens are remembered", len(v.known))
	}
	want := map[string]uint64{"expired": 1, "signature": 1, "algorithm": 1}
	got := maps.Clone(v.Stats().Refused)
	maps.DeleteFunc(got, func(_ string, n uint64) bool { return n == 0 })
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Keys that must not verify tokens are refused, each with its reason.
func TestKeys_Refused(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(signers()["RS256"])
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	for text, want := range map[string]string{
		"":                               "no public key",
		block("PRIVATE KEY", private):    "is a private key",
		block("X", private):              "no public key",
		block("PUBLIC KEY", []byte("x")): "asn1",
		strings.Repeat(publicPEM(t, "ES256"), 11):                             "more than 10",
		block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&small.PublicKey)): "1024 bits",
	} {
		if _, err := ParsePEM(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	if _, err := ParsePEM(publicPEM(t, "RS256"), []string{"ES256", "HS256"}); err == nil {
		t.Error("an RSA key is used for ES256")
	}
	for _, secret := range []string{"short", strings.Repeat("x", 31), publicPEM(t, "RS256")} {
		if _, err := NewSecret(secret, nil); err == nil {
			t.Errorf("%q is a secret", secret)
		}
	}
	if _, err := NewSecret(strings.Repeat("x", 63), []string{"HS512"}); err == nil {
		t.Error("63 bytes do for HS512")
	}
	for more, want := range map[string]string{
		jwkOf(t, "ES256", `,"use":"enc"`):                  "its use",
		jwkOf(t, "ES256", `,"use":5`):                      "its use",
		jwkOf(t, "ES256", `,"key_ops":["sign"]`):           "key_ops",
		jwkOf(t, "ES256", `,"alg":"RS256"`):                "its alg",
		jwkOf(t, "ES256", `,"alg":"none"`):                 "its alg",
		jwkOf(t, "RS256", `,"alg":"HS256"`):                "its alg",
		jwkOf(t, "HS256", ""):                              "does not come over a network",
		`{"kty":"OKP","crv":"X25519","x":"AAAA"}`:          "Ed25519",
		`{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}`: "its curve",
		`{"kty":"RSA","n":"AQAB","e":"AQAB"}`:              "17 bits",
		`{"kty":"RSA","n":"AQAB"}`:                         "its e",
		`{"kty":"x"}`:                                      "its kty",
		`5`:                                                "no JSON object",
	} {
		keys, refused, err := ParseSet([]byte(`{"keys":[`+jwkOf(t, "EdDSA", "")+`,`+more+`]}`), nil, false)
		if err != nil || len(keys) != 1 || len(refused) != 1 || !strings.Contains(refused[0], want) {
			t.Errorf("%s: %d keys, %v, %v; want %s", more, len(keys), refused, err, want)
		}
	}
	two := jwkOf(t, "ES256", `,"kid":"k"`) + `,` + jwkOf(t, "RS256", `,"kid":"k"`)
	if keys, refused, _ := ParseSet([]byte(`{"keys":[`+two+`]}`), nil, false); len(keys) > 0 || len(refused) != 2 {
		t.Errorf("two keys of one kid: %d keys, %v", len(keys), refused)
	}
	for _, text := range []string{``, `[]`, `{}`, `{"keys":{}}`, `{"keys":[]}`, `{"keys":[],"keys":[]}`,
		`{"keys":[` + strings.TrimSuffix(strings.Repeat(jwkOf(t, "ES256", "")+",", 101), ",") + `]}`} {
		if keys, _, err := ParseSet([]byte(text), nil, true); err == nil {
			t.Errorf("%.60q has %d keys", text, len(keys))
		}
	}
}
