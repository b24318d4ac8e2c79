package config

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const jwtFile = "version: 1\nsources: {main: {url: 'sqlite:a.db'}}\n" +
	"resources: {a: {table: a, access: {read: role:anon}}}\nauth:\n  jwt: "

func TestJWT_TellsWhatIsWrong(t *testing.T) {
	const long = "a secret of more than thirty-two bytes"
	for text, want := range map[string]string{
		`{issuer: i}`:     "needs secret, key or jwks",
		`{secret: short}`: "at least 32 bytes, this one has 5",
		`{secret: "` + long + `", algorithms: HS512}`:        "at least 64 bytes",
		`{secret: "` + long + `", algorithms: RS256}`:        "none of algorithms",
		`{secret: "` + long + `", algorithms: none}`:         "want ES256",
		`{secret: "-----BEGIN PUBLIC KEY-----"}`:             "is no secret",
		`{secret: "` + long + `", role: user_metadata.role}`: "users edit",
		`{secret: "` + long + `", role: "a..b"}`:             "want a path",
		`{secret: "` + long + `", anonymous: operator}`:      "want the name of a role",
		`{secret: "` + long + `", anonymous: "role:x"}`:      "want the name of a role",
		`{secret: "` + long + `", leeway: 1h}`:               "0s to 10m",
		`{secret: "` + long + `", audience: ["a", "a"]}`:     "is there twice",
		`{key: "x"}`:                                "no public key in PEM form",
		`{jwks: "{}"}`:                              "want a set of keys",
		`{jwks: "http://id.example/k"}`:             "want https",
		`{jwks: "https://id.example/k"}`:            "needs issuer",
		`{jwks: "https://id.example/k", issuer: i}`: "needs audience",
		`{jwks: "https://u:p@id.example/k", issuer: i, audience: a}`: "without a user",
	} {
		_, _, err := Parse("hotrow.yaml", jwtFile+text+"\n", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), long) {
			t.Errorf("%s: the secret is shown: %v", text, err)
		}
	}
}

func TestJWT_Warns(t *testing.T) {
	_, public, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public.Public())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, "public.pem"), text, 0o644); err != nil { // everybody may read it
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hotrow.yaml")
	set := "jwks: '{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\"," +
		"\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}," +
		"{\"kty\":\"RSA\",\"use\":\"enc\"}]}'"
	for _, tt := range []struct{ text, want string }{
		{"{key: 'file:public.pem'}", "there is no audience"},
		{"{key: 'file:public.pem', audience: a, anonymous: anno}", `did you mean "role:anon"`},
		{"{" + set + ", audience: a}", "is not used: key 2"},
		{"{key: 'file:public.pem', audience: a, anonymous: anon}", ""},
	} {
		if err := os.WriteFile(file, []byte(jwtFile+tt.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, warnings, err := Load(file, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if tt.want == "" && len(warnings) > 0 || tt.want != "" &&
			(len(warnings) != 1 || !strings.Contains(warnings[0].String(), tt.want)) {
			t.Errorf("%s: %v, want %s", tt.text, warnings, tt.want)
		}
		if dump, err := c.Dump(); err != nil || strings.Contains(string(dump), "BEGIN") {
			t.Errorf("%s: %v\n%s", tt.text, err, dump)
		}
		if o, _, _, err := c.Auth.JWT.Verifies(); err != nil || len(o.Keys) != 1 || o.Reserved[0] != RoleOperator {
			t.Errorf("%s: %+v, %v", tt.text, o, err)
		}
		if c.HTTPPrivate() {
			t.Error("with JWTs HTTP is for this machine alone")
		}
	}
}

// With JWTs a listener of HTTP may be reached from elsewhere; the others need tokens as before.
func TestJWT_Exposure(t *testing.T) {
	for text, want := range map[string]string{
		"http: {listen: ':8080'}": "", "wire: {listen: ':9900'}": "wire.listen",
		"resp: {listen: ':6380'}":      "resp.listen",
		"memcache: {listen: ':11212'}": "memcache.listen", "ops: {listen: ':8081'}": "ops.listen",
	} {
		c, _, err := Parse("hotrow.yaml", jwtFile+`{secret: "a secret of more than thirty-two bytes"}`+
			"\n"+text+"\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = c.CheckExposure(false)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A list of roles is read in every way in which people write it, and is one rule.
func TestAccess_ListsOfRoles(t *testing.T) {
	for text, want := range map[string]string{
		"[role:a, role:b]": "role:a role:b", `["role:a", 'role:b']`: "role:a role:b", "[role:a]": "role:a",
		"role:a role:b": "role:a role:b", "role:a": "role:a",
		"\n      - role:a\n      - role:b": "role:a role:b", "[public]": "public",
	} {
		c, _, err := Parse("hotrow.yaml", "version: 1\nsources: {main: {url: 'sqlite:a.db'}}\nresources:\n  a:\n"+
			"    table: a\n    access:\n     read: "+text+"\n", nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := c.Resources["a"].Access.Read; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	c, _, err := Parse("hotrow.yaml", "version: 1\nsources: {main: {url: 'sqlite:a.db'}}\n"+
		"resources: {a: {table: a, access: {read: [role:a, role:b], write: role:c}}}\n", nil)
	if err != nil || c.Resources["a"].Access != (Access{"role:a role:b", "role:c"}) {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"[role:a, public]": "public stands alone", "[a, role:b]": `did you mean "role:a"`, "[role:a, role:a]": "twice",
		"[]": "is empty", "[[role:a]]": "single value", "[role:]": "want public", "[{role: {a: 1}}]": "single value",
	} {
		_, _, err := Parse("hotrow.yaml", "version: 1\nsources: {main: {url: 'sqlite:a.db'}}\nresources:\n  a:\n"+
			"    table: a\n    access:\n     read: "+text+"\n", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
