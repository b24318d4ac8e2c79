package front

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"sync/atomic"
)

// A Principal is who asks: the holder of a token.
type Principal struct {
	Name  string
	Roles []string
}

// A Token is one line of the configuration's auth.tokens. The token itself is
// nowhere: only its SHA-256 is kept.
type Token struct {
	Principal
	sum [sha256.Size]byte
}

// NewToken returns the token of the principal name whose SHA-256 is sum, in
// hexadecimal.
func NewToken(name, sum string, roles ...string) (Token, error) {
	t := Token{Principal: Principal{Name: name, Roles: roles}}
	b, err := hex.DecodeString(sum)
	if err != nil || len(b) != len(t.sum) {
		return Token{}, fmt.Errorf("token %q: sha256 must be 64 hexadecimal digits: "+
			"make one with hotrow token %s", name, name)
	}
	copy(t.sum[:], b)
	return t, nil
}

func (t Token) equal(o Token) bool {
	return t.Name == o.Name && t.sum == o.sum && slices.Equal(t.Roles, o.Roles)
}

// MakeSecret returns a new token to hand to a client, and its SHA-256 for the
// configuration. The prefix lets scanners of source code recognise a leak.
func MakeSecret() (secret, sum string) {
	secret = "hrt_" + rand.Text()
	h := sha256.Sum256([]byte(secret))
	return secret, hex.EncodeToString(h[:])
}

// Tokens is the set of tokens that are good now. It may be replaced while
// requests look into it; the next request on any connection sees the new set.
type Tokens struct {
	list atomic.Pointer[[]Token]
}

// Set replaces the tokens by list, which must not be written to afterwards.
func (t *Tokens) Set(list []Token) {
	if old := t.list.Load(); old == nil || !slices.EqualFunc(*old, list, Token.equal) {
		t.list.Store(&list)
	}
}

// Issued returns a value that is another one after each Set of other tokens.
func (t *Tokens) Issued() any { return t.list.Load() }

// Len returns how many tokens there are.
func (t *Tokens) Len() int {
	if list := t.list.Load(); list != nil {
		return len(*list)
	}
	return 0
}

// Principal returns the holder of the token bearer. Its time depends on the
// number of tokens, not on which of them is nearly right.
func (t *Tokens) Principal(bearer string) (Principal, bool) {
	list := t.list.Load()
	if list == nil || bearer == "" {
		return Principal{}, false
	}
	sum := sha256.Sum256([]byte(bearer))
	found := -1
	for i := range *list {
		if subtle.ConstantTimeCompare((*list)[i].sum[:], sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Principal{}, false
	}
	return (*list)[found].Principal, true
}
