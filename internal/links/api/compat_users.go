package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/bcrypt"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A user is an account of shortcut's.
type user struct {
	id                 int64
	email, first, last string
	password           []byte // bcrypt
}

// owner is what a user's links have as their owner. No key has this name.
func (u *user) owner() string { return "user:" + strconv.FormatInt(u.id, 10) }

// document returns what a client is told of a user.
func (u *user) document(message string) map[string]any {
	return map[string]any{"success": true, "message": message, "firstName": u.first,
		"lastName": u.last, "email": u.email}
}

// errNoUser is the error of an account that is not there.
var errNoUser = errors.New("there is no such user")

// users are the accounts in a database.
type users struct {
	db     source.Store
	nobody []byte        // the hash of a password that nobody has
	turns  chan struct{} // of hashing, which takes a processor for a while
}

func newUsers(db source.Store) *users {
	// The cost is a valid one and the password short: there is no error.
	nobody, _ := bcrypt.GenerateFromPassword([]byte("nobody has this one"), bcrypt.DefaultCost)
	return &users{db: db, nobody: nobody, turns: make(chan struct{}, 2)}
}

// find reads the user that a condition names.
func (s *users) find(ctx context.Context, where string, arg any) (*user, error) {
	var u *user
	err := s.db.Query(ctx, "SELECT id, email, first_name, last_name, password"+
		" FROM link_users WHERE "+where, []any{arg}, func(r source.StoreRow) error {
		u = &user{id: r.Int(0), email: r.Text(1), first: r.Text(2), last: r.Text(3),
			password: r.Bytes(4)}
		return nil
	})
	if err == nil && u == nil {
		err = errNoUser
	}
	return u, err
}

func (s *users) byID(ctx context.Context, id int64) (*user, error) {
	return s.find(ctx, "id = ?", id)
}

// add makes an account. It reports false when there is one of that address.
func (s *users) add(ctx context.Context, u *user, password string, now time.Time) (bool, error) {
	s.turns <- struct{}{}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	<-s.turns
	if err != nil {
		return false, malformed(err)
	}
	ok := false
	_, err = s.db.Tx(ctx, func(tx source.StoreTx) error {
		var err error
		u.id, ok, err = tx.Insert(ctx, "link_users", []string{"email", "first_name", "last_name",
			"password", "created_at"}, u.email, u.first, u.last, hash, now.UnixMilli())
		return err
	})
	return ok, err
}

// check returns the account of an address if the password is its own. That there
// is no such account takes as long to say as that the password is wrong.
func (s *users) check(
	ctx context.Context, email, password string, now time.Time,
) (*user, error) {
	u, err := s.find(ctx, "email = ?", email)
	if err != nil && !errors.Is(err, errNoUser) {
		return nil, err
	}
	hash := s.nobody
	if u != nil {
		hash = u.password
	}
	s.turns <- struct{}{}
	wrong := bcrypt.CompareHashAndPassword(hash, []byte(password))
	<-s.turns
	if wrong != nil || u == nil {
		return nil, refusedLogin
	}
	_, err = s.db.Tx(ctx, func(tx source.StoreTx) error {
		_, err := tx.Exec(ctx, "UPDATE link_users SET last_login = ? WHERE id = ?",
			now.UnixMilli(), u.id)
		return err
	})
	return u, err
}

// claims are what a token says.
type claims struct {
	User      int64    `json:"ID"`
	Expires   *instant `json:"exp"`
	NotBefore *instant `json:"nbf,omitempty"`
	Issued    *instant `json:"iat,omitempty"`

	jwt.RegisteredClaims `json:"-"` // what the rest of jwt.Claims asks for
}

// An instant is a jwt.NumericDate, which it would also take from a text.
type instant struct{ jwt.NumericDate }

// UnmarshalJSON reads a number.
func (i *instant) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return errors.New("a time is a number (RFC 7519 2)")
	}
	return i.NumericDate.UnmarshalJSON(text)
}

// date returns the time, nil for none.
func (i *instant) date() (*jwt.NumericDate, error) {
	if i == nil {
		return nil, nil
	}
	return &i.NumericDate, nil
}

// GetExpirationTime returns when the token ends.
func (c claims) GetExpirationTime() (*jwt.NumericDate, error) { return c.Expires.date() }

// GetNotBefore returns when the token begins.
func (c claims) GetNotBefore() (*jwt.NumericDate, error) { return c.NotBefore.date() }

// GetIssuedAt returns when the token was made.
func (c claims) GetIssuedAt() (*jwt.NumericDate, error) { return c.Issued.date() }

// tokenFor is how long a token is good for.
const tokenFor = 14 * 24 * time.Hour

// sign returns a token of a user.
func (s *Shortcut) sign(id int64, now time.Time) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{User: id,
		Expires: &instant{*jwt.NewNumericDate(now.Add(tokenFor))}})
	return t.SignedString(s.secret)
}

// verify returns whose token it is.
func (s *Shortcut) verify(token string, now time.Time) (int64, bool) {
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if _, has := t.Header["crit"]; has {
			return nil, errors.New("hotrow does not know the token's critical extensions (crit)")
		}
		return s.secret, nil
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return now }))
	return c.User, err == nil && c.User > 0
}

// userShape is the body of a registration and of a login.
var userShape = row.NewShape([]row.Field{
	{Name: "email", Kind: row.Text}, {Name: "password", Kind: row.Text},
	{Name: "firstName", Kind: row.Text}, {Name: "lastName", Kind: row.Text},
})

// credentials reads the body of a registration or of a login.
func (c *call) credentials() (*user, string, error) {
	if c.o.Shortcut.logins.take(c.o.ClientIP(c.r), 1, c.o.Now()) > 0 {
		return nil, "", refusedOften
	}
	in, err := c.input(userShape)
	if err != nil {
		return nil, "", err
	}
	u := &user{email: strings.ToLower(in.Values[0].Text()), first: in.Values[2].Text(),
		last: in.Values[3].Text()}
	for _, text := range []string{u.email, u.first, u.last} {
		if len(text) > 190 || strings.ContainsFunc(text, isControl) {
			return nil, "", malformed(errors.New("a name is too long, or has control characters"))
		}
	}
	return u, in.Values[1].Text(), nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// register makes an account.
func (c *call) register() (int, any, error) {
	u, password, err := c.credentials()
	if err != nil {
		return 0, nil, err
	}
	at := strings.IndexByte(u.email, '@')
	if at < 1 || at == len(u.email)-1 {
		return 0, nil, malformed(errors.New("email is not an address"))
	}
	if len(password) < 8 {
		return 0, nil, refusedPassword
	}
	if len(password) > 72 {
		return 0, nil, malformed(errors.New("password must have 72 bytes at most"))
	}
	ok, err := c.o.Shortcut.users.add(c.r.Context(), u, password, c.o.Now())
	if err != nil {
		return 0, nil, err
	}
	if !ok {
		return 0, nil, malformed(errors.New("there is a user of this address"))
	}
	return c.signedIn(u, "registerd") // as shortcut spells it
}

// login answers with a token.
func (c *call) login() (int, any, error) {
	u, password, err := c.credentials()
	if err != nil {
		return 0, nil, err
	}
	u, err = c.o.Shortcut.users.check(c.r.Context(), u.email, password, c.o.Now())
	if err != nil {
		return 0, nil, err
	}
	return c.signedIn(u, "authenticated")
}

func (c *call) signedIn(u *user, message string) (int, any, error) {
	token, err := c.o.Shortcut.sign(u.id, c.o.Now())
	doc := u.document(message)
	doc["jwt"] = token
	return http.StatusOK, doc, err
}

// shortcutShape is the body of a link. What shortcut only shows is taken and
// left alone, so that a link can be sent back as it was read.
var shortcutShape = row.NewShape([]row.Field{
	{Name: "shortIdentifier", Kind: row.Text}, {Name: "redirectURL", Kind: row.Text},
	{Name: "redirectStatus", Kind: row.Int}, {Name: "validThru", Kind: row.Text},
	{Name: "id", Kind: row.Int}, {Name: "createdAt", Kind: row.Text},
	{Name: "updatedAt", Kind: row.Text}, {Name: "UserID", Kind: row.Int},
})

// shortcutDraft reads the body of a link in the terms of package links.
func (c *call) shortcutDraft() (*links.Draft, error) {
	in, err := c.input(shortcutShape)
	if err != nil {
		return nil, err
	}
	members := make(map[string]row.Value)
	for i, name := range []string{"code", "url", "status", "expires_at"} {
		if in.Present[i] {
			members[name] = in.Values[i]
		}
	}
	if v, ok := members["expires_at"]; ok && v.Text() == "" {
		members["expires_at"] = row.Value{}
	} else if ok {
		text, err := expiry(v.Text())
		if err != nil {
			return nil, malformed(err)
		}
		members["expires_at"] = row.TextValue(row.DatetimeTZ, text)
	}
	return links.NewDraft(members), nil
}
