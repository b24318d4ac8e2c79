package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// now is when the tests ask.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const testSecret = "a secret of more than thirty-two bytes, even of sixty-four of them"

// signers have a private key for each algorithm.
var signers = sync.OnceValue(func() map[string]any {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	m := map[string]any{"EdDSA": ed}
	for name, c := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(),
		"ES512": elliptic.P521()} {
		m[name], _ = ecdsa.GenerateKey(c, rand.Reader)
	}
	for _, size := range []string{"256", "384", "512"} {
		m["HS"+size], m["RS"+size], m["PS"+size] = []byte(testSecret), r, r
	}
	return m
})

// publicPEM returns the public key of an algorithm in PEM form.
func publicPEM(t testing.TB, alg string) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(signers()[alg].(crypto.Signer).Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// keyOf returns the key of an algorithm.
func keyOf(t testing.TB, alg string) Key {
	t.Helper()
	if strings.HasPrefix(alg, "HS") {
		k, err := NewSecret(testSecret, []string{alg})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	keys, err := ParsePEM(publicPEM(t, alg), []string{alg})
	if err != nil {
		t.Fatal(err)
	}
	return keys[0]
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// sign makes a token of texts, whatever they are, with the key and the method of alg.
func sign(t testing.TB, alg, header, payload string) string {
	t.Helper()
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	return signed + "." + encode(signature(t, alg, signers()[alg], signed))
}

// signature signs a text.
func signature(t testing.TB, alg string, key any, signed string) []byte {
	t.Helper()
	a := algorithms[alg]
	if a.kind == symmetric {
		mac := hmac.New(a.hash.New, key.([]byte))
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
	if a.kind == edwards {
		return ed25519.Sign(key.(ed25519.PrivateKey), []byte(signed))
	}
	h := a.hash.New()
	h.Write([]byte(signed))
	var sig []byte
	var err error
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if sig, err = rsa.SignPKCS1v15(nil, k, a.hash, h.Sum(nil)); a.kind == pss {
			sig, err = rsa.SignPSS(rand.Reader, k, a.hash, h.Sum(nil), &rsa.PSSOptions{SaltLength: a.hash.Size()})
		}
	case *ecdsa.PrivateKey:
		r, s, e := ecdsa.Sign(rand.Reader, k, h.Sum(nil))
		size := (k.Params().BitSize + 7) / 8
		sig, err = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), e
	}
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

// header returns the header of a token of alg with more members, which begin with a comma.
func header(alg, more string) string { return `{"typ":"JWT","alg":"` + alg + `"` + more + `}` }

// claims returns the payload of a token that is good at now, with more members.
func claims(more string) string { return fmt.Sprintf(`{"exp":%d%s}`, now.Unix()+600, more) }

// newVerifier returns a verifier at now.
func newVerifier(t testing.TB, o Options) *Verifier {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	if o.Role == nil {
		o.Role = []string{"role"}
	}
	v, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// wantVerified compares what a token is worth; want is a Refusal or nil.
func wantVerified(t *testing.T, v *Verifier, name, token string, want error) Claims {
	t.Helper()
	c, err := v.Verify(t.Context(), token)
	if err != want {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
	return c
}

// jwkOf returns a public key as a JWK, with more members that begin with a comma.
func jwkOf(t testing.TB, alg, more string) string {
	t.Helper()
	var o map[string]string
	switch k := signers()[alg].(type) {
	case []byte:
		o = map[string]string{"kty": "oct", "k": encode(k)}
	case *rsa.PrivateKey:
		o = map[string]string{"kty": "RSA", "n": encode(k.N.Bytes()), "e": "AQAB"}
	case ed25519.PrivateKey:
		o = map[string]string{"kty": "OKP", "crv": "Ed25519", "x": encode(k.Public().(ed25519.PublicKey))}
	case *ecdsa.PrivateKey:
		b, err := k.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		size := len(b) / 2
		o = map[string]string{"kty": "EC", "crv": k.Params().Name, "x": encode(b[1 : 1+size]), "y": encode(b[1+size:])}
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "}") + more + "}"
}
