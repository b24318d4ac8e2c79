package front

import (
	"strings"
	"testing"
)

func newToken(t *testing.T, name string, roles ...string) (secret string, token Token) {
	t.Helper()
	secret, sum := MakeSecret()
	token, err := NewToken(name, sum, roles...)
	if err != nil {
		t.Fatal(err)
	}
	return secret, token
}

func TestTokens_KnowsItsTokensOnly(t *testing.T) {
	var tokens Tokens
	if _, ok := tokens.Principal("x"); ok || tokens.Len() != 0 {
		t.Error("the zero Tokens knows somebody")
	}
	a, ta := newToken(t, "a", "editor")
	b, tb := newToken(t, "b")
	tokens.Set([]Token{ta, tb})
	for secret, name := range map[string]string{a: "a", b: "b"} {
		if p, ok := tokens.Principal(secret); !ok || p.Name != name {
			t.Errorf("Principal of %s = %+v, %v", name, p, ok)
		}
	}
	for _, bad := range []string{"", "x", a + " ", strings.ToLower(a)} {
		if p, ok := tokens.Principal(bad); ok {
			t.Errorf("Principal(%q) = %+v, want nobody", bad, p)
		}
	}
	tokens.Set([]Token{tb})
	if _, ok := tokens.Principal(a); ok {
		t.Error("a token that was taken away is still good")
	}
}

func TestNewToken_RefusesWhatIsNoSHA256(t *testing.T) {
	for _, sum := range []string{"", "abc", strings.Repeat("0", 63), strings.Repeat("g", 64),
		strings.Repeat("0", 66)} {
		if _, err := NewToken("ci", sum); err == nil || !strings.Contains(err.Error(), "ci") {
			t.Errorf("NewToken(%q) = %v, want an error that names the token", sum, err)
		}
	}
}
