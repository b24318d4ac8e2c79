package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/source"
)

// A Shortcut serves the endpoints of the program shortcut
// (github.com/davidkroell/shortcut), so that its clients go on: /auth/new,
// /auth, /api/shortcuts and /api/user, with its names of members and its codes
// of errors. What it let through and did not survive is refused here.
type Shortcut struct {
	users  *users
	secret []byte
	logins *rate
}

// minSecret is the shortest secret that tokens are signed with, in bytes.
const minSecret = 16

// NewShortcut returns the endpoints over the users in db. secret signs their
// tokens.
func NewShortcut(db source.Store, secret []byte) (*Shortcut, error) {
	if len(secret) < minSecret {
		return nil, fmt.Errorf("it needs at least %d bytes, such as of openssl rand -hex 16",
			minSecret)
	}
	const logins = 20 // of one client in a minute: each costs much work
	return &Shortcut{users: newUsers(db), secret: secret, logins: newRate(logins)}, nil
}

// A refusal is an error as shortcut's clients know it.
type refusal struct {
	status  int
	code    int
	message string
}

func (e refusal) Error() string { return e.message }

// The errors of shortcut, with its codes and texts. What it has no error for has
// code 1012, which it uses for all else.
var (
	refusedType = refusal{http.StatusBadRequest, 1000,
		"Wrong Content-Type in POST request. application/json expected"}
	refusedMissing = refusal{http.StatusNotFound, 1002, "Not found"}
	refusedPath    = refusal{http.StatusNotFound, 0, "requested page not found"}
	refusedBody    = refusal{http.StatusBadRequest, 1003, "Malformed JSON body"}
	refusedUpdate  = refusal{http.StatusBadRequest, 1005, "Could not update"}
	refusedPage    = refusal{http.StatusBadRequest, 1007, "Malformed URL. page must be a number"}
	refusedLogin   = refusal{http.StatusUnauthorized, 1008, "Credentials do not match"}
	refusedNoToken = refusal{http.StatusBadRequest, 1009,
		"Malformed or missing authorization header"}
	refusedToken    = refusal{http.StatusUnauthorized, 1010, "Unauthorized"}
	refusedPassword = refusal{http.StatusBadRequest, 1012, "password to short"} // its spelling
	refusedMethod   = refusal{http.StatusMethodNotAllowed, 1012, "Method not allowed"}
	refusedOften    = refusal{http.StatusTooManyRequests, 1012, "Too many requests"}
	refusedOther    = refusal{http.StatusInternalServerError, 1012, "Unhandled error"}
	refusedNow      = refusal{http.StatusServiceUnavailable, 1012,
		"The database cannot do this now"}
)

// malformed refuses a body, in shortcut's words and then in ours.
func malformed(err error) refusal {
	e := refusedBody
	e.message += ": " + err.Error()
	return e
}

// takenCode refuses a code that another link has.
func takenCode(code string) refusal {
	return refusal{http.StatusBadRequest, 1011,
		"Shortcut with identifier " + code + " already exists"}
}

// ShortcutMissing returns what shortcut answers, as JSON, for a code that is no
// link's, and for any other path that leads nowhere.
func ShortcutMissing() (code, path string) {
	text := func(e refusal) string {
		b, _ := json.Marshal(e.body()) // strings and numbers: it cannot fail
		return string(b) + "\n"
	}
	return text(refusedMissing), text(refusedPath)
}

// body returns the body of an answer that refuses.
func (e refusal) body() map[string]any {
	body := map[string]any{"success": false, "message": e.message}
	if e.code != 0 {
		body["code"] = e.code
	}
	return body
}

// shortcut answers a path of the program shortcut.
func (c *call) shortcut(path string) error {
	status, body, err := c.shortcutAnswer(path)
	if err != nil {
		e := refusalOf(err)
		if e.status >= http.StatusInternalServerError {
			c.o.Log.Error("request failed", "method", c.r.Method, "path", path, "err", err)
		}
		status, body = e.status, e.body()
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.write(status, typeJSON, append(text, '\n'))
}

// refusalOf returns what a client is told of err.
func refusalOf(err error) refusal {
	var e refusal
	if errors.As(err, &e) {
		return e
	}
	p := problemOf(err)
	switch p.kind {
	case kindNotFound:
		return refusedMissing
	case kindTaken:
		return refusedUpdate
	case kindMedia:
		return refusedType
	case kindTooLarge:
		return refusal{p.kind.status, 1003, p.Error()}
	case kindUnavailable:
		return refusedNow
	}
	if p.kind.status < http.StatusInternalServerError {
		return malformed(p)
	}
	return refusedOther
}

// shortcutAnswer returns the answer to a path.
func (c *call) shortcutAnswer(path string) (int, any, error) {
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	id, one := strings.CutPrefix(path, "/api/shortcuts/")
	switch {
	case path == "/auth/new" && method == http.MethodPost:
		return c.register()
	case path == "/auth" && method == http.MethodPost:
		return c.login()
	case path == "/auth", path == "/auth/new":
		return 0, nil, refusedMethod
	case path != "/api/shortcuts" && path != "/api/user" && !one:
		return 0, nil, refusedPath
	}
	u, err := c.user()
	switch {
	case err != nil:
		return 0, nil, err
	case path == "/api/user":
		return http.StatusOK, u.document("user"), nil
	case one:
		return c.oneShortcut(method, u, id)
	case method == http.MethodGet:
		return c.shortcuts(u)
	case method == http.MethodPost:
		return c.newShortcut(u)
	}
	return 0, nil, refusedMethod
}

// user returns whose token the request has.
func (c *call) user() (*user, error) {
	token, ok := httprule.BearerToken(c.r.Header)
	if !ok {
		return nil, refusedNoToken
	}
	id, ok := c.o.Shortcut.verify(token, c.o.Now())
	if !ok {
		return nil, refusedToken
	}
	u, err := c.o.Shortcut.users.byID(c.r.Context(), id)
	if errors.Is(err, errNoUser) {
		return nil, refusedToken
	}
	return u, err
}

// shortcuts answers with a page of the user's links.
func (c *call) shortcuts(u *user) (int, any, error) {
	const perPage = 20
	page := 0
	if text := c.form.Get("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1_000_000 {
			return 0, nil, refusedPage
		}
		page = n
	}
	list, err := c.o.Links.Owned(c.r.Context(), u.owner(), page*perPage, perPage)
	if err != nil {
		return 0, nil, err
	}
	docs := make([]shortcutDocument, len(list))
	for i := range list {
		docs[i] = shortcutOf(&list[i], u.id)
	}
	return http.StatusOK, docs, nil
}

// A shortcutDocument is a link as shortcut shows it.
type shortcutDocument struct {
	ID              int64   `json:"id"`
	ShortIdentifier string  `json:"shortIdentifier"`
	RedirectURL     string  `json:"redirectURL"`
	RedirectStatus  int     `json:"redirectStatus"`
	CreatedAt       string  `json:"createdAt"`
	UpdatedAt       string  `json:"updatedAt"`
	ValidThru       *string `json:"validThru"`
	UserID          int64   `json:"UserID"`
}

func shortcutOf(l *links.Link, user int64) shortcutDocument {
	d := shortcutDocument{ID: l.ID, ShortIdentifier: l.Code, RedirectURL: l.URL,
		RedirectStatus: l.Status, CreatedAt: links.FormatTime(l.CreatedAt),
		UpdatedAt: links.FormatTime(l.UpdatedAt), UserID: user}
	if l.ExpiresAt != 0 {
		at := links.FormatTime(l.ExpiresAt)
		d.ValidThru = &at
	}
	return d
}

// newShortcut makes a link.
func (c *call) newShortcut(u *user) (int, any, error) {
	d, err := c.shortcutDraft()
	if err != nil {
		return 0, nil, err
	}
	if d.Code == "" {
		return 0, nil, malformed(errors.New("shortIdentifier is missing"))
	}
	l, _, err := c.o.Links.Create(c.r.Context(), d, u.owner())
	switch {
	case errors.Is(err, links.ErrTaken):
		return 0, nil, takenCode(d.Code)
	case err != nil:
		return 0, nil, err
	}
	return http.StatusCreated,
		map[string]any{"success": true, "message": "created", "id": l.ID}, nil
}

// oneShortcut reads, changes or deletes a link of the user's.
func (c *call) oneShortcut(method string, u *user, id string) (int, any, error) {
	ctx := c.r.Context()
	n, err := strconv.ParseInt(id, 10, 64)
	switch {
	case err != nil && method == http.MethodDelete:
		return 0, nil, refusedBody
	case err != nil:
		return 0, nil, refusedMissing
	}
	l, err := c.o.Links.ByID(ctx, n)
	if err != nil {
		return 0, nil, err
	}
	if l.Owner != u.owner() {
		return 0, nil, refusedMissing
	}
	done := func(message string) map[string]any {
		return map[string]any{"success": true, "message": message}
	}
	switch method {
	case http.MethodGet:
		return http.StatusOK, shortcutOf(&l, u.id), nil
	case http.MethodPut:
		d, err := c.shortcutDraft()
		if err != nil {
			return 0, nil, err
		}
		_, err = c.o.Links.Merge(ctx, l.Code, d, links.Condition{}, u.owner())
		return http.StatusOK, done("updated"), err
	case http.MethodDelete:
		err := c.o.Links.Delete(ctx, l.Code, links.Condition{}, u.owner())
		return http.StatusOK, done("deleted"), err
	}
	return 0, nil, refusedMethod
}

// expiry reads validThru: a time, or nothing.
func expiry(text string) (string, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "", errors.New("validThru is not a time such as 2030-12-31T23:59:59Z")
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}
