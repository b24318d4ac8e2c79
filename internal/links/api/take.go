package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// A takenUser is a user that another shortcut has had, one a line.
type takenUser struct {
	ID        int64      `json:"id"`
	Email     string     `json:"email"`
	FirstName string     `json:"first_name"`
	LastName  string     `json:"last_name"`
	Password  string     `json:"password"` // its bcrypt hash
	CreatedAt *time.Time `json:"created_at"`
	LastLogin *time.Time `json:"last_login"`
}

// A takenAnswer is what became of a line.
type takenAnswer struct {
	Line   int    `json:"line"`
	Status int    `json:"status"`
	ID     int64  `json:"id,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// takeUsers takes over users with their passwords' hashes, for the administrator.
// A number that somebody has is not kept; an address that somebody has is answered
// with 409 and the number of that user.
func (c *call) takeUsers() error {
	if err := c.may(links.RoleAdmin, false); err != nil {
		return err
	}
	if c.o.Shortcut == nil {
		return problem{kind: kindNotFound, detail: "without links.jwt_secret there are no users"}
	}
	return c.lines(func(text []byte, a *takenAnswer) error {
		var u takenUser
		if err := decodeLine(text, &u); err != nil {
			return err
		}
		if u.ID < 0 || u.ID > links.MaxNumber {
			return problem{kind: kindBadJSON, field: "id", detail: fmt.Sprintf(
				"id: %d is not from 0 to %d", u.ID, links.MaxNumber)}
		}
		u.Email = strings.ToLower(u.Email)
		if at := strings.IndexByte(u.Email, '@'); at < 1 || len(u.Email) > 190 {
			return &links.FieldError{Field: "email", Detail: "it is no address"}
		}
		if _, err := bcrypt.Cost([]byte(u.Password)); err != nil {
			a.Detail = "its password is no hash of bcrypt's: nobody can sign in with it"
		}
		made, err := c.o.Shortcut.users.take(c.r.Context(), &u, c.o.Now())
		if a.ID = u.ID; err == nil && !made {
			return links.ErrTaken
		}
		return err
	})
}

// A takenClick is a click that another shortener has counted, one a line.
type takenClick struct {
	Link     int64      `json:"link"`
	At       *time.Time `json:"at"`
	Agent    string     `json:"agent"`
	Referrer string     `json:"referrer"`
	IP       string     `json:"ip"`
}

// takeClicks records clicks that were counted elsewhere, for the administrator. They
// go the way of all clicks: into the log, and from there into rows and sums. Those of a
// link that was deleted are kept for its return; those of a number that no link has yet
// are refused, for they would be counted for a link that is none of theirs.
func (c *call) takeClicks() error {
	if err := c.may(links.RoleAdmin, false); err != nil {
		return err
	}
	if c.o.Record == nil {
		return problem{kind: kindNotFound, detail: "clicks are not recorded (links.log.record)"}
	}
	had := make(map[int64]bool) // numbers of links that were looked up
	return c.lines(func(text []byte, _ *takenAnswer) error {
		var k takenClick
		if err := decodeLine(text, &k); err != nil {
			return err
		}
		if k.At == nil || k.At.After(c.o.Now()) || k.At.Year() < 1970 {
			return &links.FieldError{Field: "at", Detail: "it is no time that has passed"}
		}
		if k.Link < 1 {
			return &links.FieldError{Field: "link", Detail: "it is no number of a link"}
		}
		if !had[k.Link] {
			var err error
			if had[k.Link], err = c.o.Links.Had(c.r.Context(), k.Link); err != nil {
				return err
			}
		}
		if !had[k.Link] {
			return &links.FieldError{Field: "link", Detail: "no link has this number, or had it"}
		}
		r := clicklog.Record{At: k.At.UnixMilli(), Link: k.Link, Agent: []byte(k.Agent),
			Referrer: []byte(k.Referrer)}
		if ip, ok := addressIn(k.IP); ok {
			r.IP = ip.As16()
		}
		if !c.o.Record(&r) {
			return problem{kind: kindLogFull, after: time.Second}
		}
		return nil
	})
}

// addressIn reads an address, with a port or without.
func addressIn(text string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(text)
	return ip.Unmap().WithZone(""), err == nil
}

// decodeLine reads a line of NDJSON, without members that nobody knows.
func decodeLine(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return problem{kind: kindBadJSON, detail: err.Error()}
	}
	return nil
}

// lines does one for each line of a body of NDJSON, and answers each in turn. That the
// client may is seen to.
func (c *call) lines(one func([]byte, *takenAnswer) error) error {
	if err := c.known(); err != nil {
		return err
	}
	if c.bodyType() != typeNDJSON {
		return problem{kind: kindMedia, detail: "send Content-Type: " + typeNDJSON}
	}
	_ = http.NewResponseController(c.w).EnableFullDuplex() // HTTP/2 needs no leave
	defer c.drain()
	in := bufio.NewScanner(c.r.Body)
	in.Buffer(make([]byte, 0, 4096), int(c.o.MaxBody))
	out := json.NewEncoder(c.w)
	c.w.Header().Set("Content-Type", typeNDJSON)
	for n := 1; in.Scan(); n++ {
		if n%bulkLines == 1 {
			c.extend()
		}
		a := takenAnswer{Line: n, Status: http.StatusCreated}
		if err := one(in.Bytes(), &a); err != nil {
			p := problemOf(err)
			a.Status, a.Detail = p.kind.status, p.Error()
		}
		c.sent = true
		if err := out.Encode(&a); err != nil {
			return err
		}
	}
	c.sent = true
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return out.Encode(&takenAnswer{Status: http.StatusRequestEntityTooLarge,
			Detail: "a line is too long; nothing behind it was read"})
	}
	return in.Err()
}
