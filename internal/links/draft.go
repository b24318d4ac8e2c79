package links

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

// The bounds of what a link may hold.
const (
	maxTitle = 300 // characters
	maxTags  = 32
	maxTag   = 60 // characters
)

// MaxNumber is the largest number that is kept of another program: behind it the
// database still has numbers for all links to come, and up to it programs read JSON's
// numbers exactly that have no other ones than floating-point numbers.
const MaxNumber = 1<<53 - 1

// A Draft is the body of a request: what a link is to be. Which of its members
// were there counts, for a merge and for a replacement alike.
type Draft struct {
	in *row.Input

	Code       string // "": to be generated, or that of the path
	Reuse      bool   // a link that leads there already will do
	CodeLength int    // of a generated code; 0: as configured
	ID         int64  // the number that it had elsewhere; 0: none
}

// bodyShape is what a body may have. Members that only an answer has are taken
// and left alone, so that a link can be sent back as it was read.
var bodyShape = row.NewShape(append([]row.Field{
	{Name: "reuse", Kind: row.Bool}, {Name: "code_length", Kind: row.Int},
	{Name: "id", Kind: row.Int},
}, shape.Fields...))

// bodyAt is where the members of a body are.
var bodyAt = func() map[string]int {
	at := make(map[string]int)
	for i, f := range bodyShape.Fields {
		at[f.Name] = i
	}
	return at
}()

// ParseDraft reads a body. The error is a *row.DecodeError where it cannot be
// read or has another member, or a member of another kind, than a link has; or
// it is a *FieldError.
func ParseDraft(body []byte, f row.Format) (*Draft, error) {
	var in *row.Input
	var err error
	if f == row.FormatMsgPack {
		in, err = bodyShape.DecodeMsgPack(body)
	} else {
		in, err = bodyShape.DecodeJSON(body)
	}
	if err != nil {
		return nil, err
	}
	d := &Draft{in: in}
	if v, ok := d.get("code"); ok {
		d.Code = v.Text()
		if d.Code == "" && !v.IsNull() {
			return nil, refuse("code", "it is empty; leave it out to have one made")
		}
	}
	if v, ok := d.get("reuse"); ok {
		d.Reuse = v.Bool()
	}
	if v, ok := d.get("id"); ok {
		d.ID = v.Int()
	}
	if v, ok := d.get("code_length"); ok && !v.IsNull() {
		if n := v.Int(); n < 4 || n > maxGenerated {
			return nil, refuse("code_length", "it must be from 4 to %d", maxGenerated)
		}
		d.CodeLength = int(v.Int())
	}
	return d, nil
}

// NewDraft returns the draft of a link that leads to url and has else the
// members given, each the value that a body would have.
func NewDraft(members map[string]row.Value) *Draft {
	in := &row.Input{
		Present: make([]bool, len(bodyShape.Fields)),
		Values:  make(row.Values, len(bodyShape.Fields)),
	}
	for name, v := range members {
		if at, ok := bodyAt[name]; ok {
			in.Present[at], in.Values[at] = true, v
		}
	}
	d := &Draft{in: in}
	if v, ok := d.get("code"); ok {
		d.Code = v.Text()
	}
	return d
}

// get returns a member, and whether it was in the body.
func (d *Draft) get(name string) (row.Value, bool) {
	at := bodyAt[name]
	return d.in.Values[at], d.in.Present[at]
}

// blank is a link before anything was said of it.
func (r *Rules) blank() Link {
	return Link{Status: r.o.Status, Enabled: true, PassQuery: true}
}

// Fill changes l by the members that d has; null stands for the default. now is
// in milliseconds; expiry in the past is refused unless it was so before. The
// code is left alone.
func (r *Rules) Fill(l *Link, d *Draft, now int64) error {
	before := *l
	for _, set := range []func(*Link, *Draft) error{
		r.fillTargets, r.fillNumbers, fillTexts, fillTimes,
	} {
		if err := set(l, d); err != nil {
			return err
		}
	}
	switch {
	case l.URL == "":
		return refuse("url", "it is missing")
	case l.ExpiresAt != 0 && l.ExpiresAt != before.ExpiresAt && l.ExpiresAt <= now:
		return refuse("expires_at", "it is in the past")
	case l.ExpiresAt != 0 && l.StartsAt >= l.ExpiresAt:
		return refuse("starts_at", "it is not before expires_at")
	}
	return nil
}

// fillTargets reads the members that are URLs.
func (r *Rules) fillTargets(l *Link, d *Draft) error {
	if v, ok := d.get("url"); ok {
		url, err := r.Target("url", v.Text())
		if err != nil {
			return err
		}
		l.URL = url
	}
	v, ok := d.get("expired_url")
	if !ok {
		return nil
	}
	if v.IsNull() {
		l.ExpiredURL = ""
		return nil
	}
	url, err := r.Target("expired_url", v.Text())
	l.ExpiredURL = url
	return err
}

// fillNumbers reads the status, the limit and the flags.
func (r *Rules) fillNumbers(l *Link, d *Draft) error {
	blank := r.blank()
	if v, ok := d.get("status"); ok {
		l.Status = blank.Status
		if !v.IsNull() {
			if n := v.Int(); n < 0 || n > 999 || !isRedirect(int(n)) {
				return refuse("status", "%d is not a redirect; use 301, 302, 303, 307 or 308", n)
			}
			l.Status = int(v.Int())
		}
	}
	if v, ok := d.get("max_clicks"); ok {
		l.MaxClicks = v.Int()
		if !v.IsNull() && l.MaxClicks < 1 {
			return refuse("max_clicks", "it must be at least 1; leave it out for any number")
		}
	}
	for _, flag := range []struct {
		name  string
		field *bool
		blank bool
	}{
		{"enabled", &l.Enabled, blank.Enabled}, {"pass_query", &l.PassQuery, blank.PassQuery},
		{"pass_path", &l.PassPath, blank.PassPath},
	} {
		if v, ok := d.get(flag.name); ok {
			*flag.field = v.Bool()
			if v.IsNull() {
				*flag.field = flag.blank
			}
		}
	}
	return nil
}

// fillTexts reads the title and the tags.
func fillTexts(l *Link, d *Draft) error {
	if v, ok := d.get("title"); ok {
		if !isLine(v.Text(), maxTitle) {
			return refuse("title", "it has a control character, or more than %d characters",
				maxTitle)
		}
		l.Title = v.Text()
	}
	v, ok := d.get("tags")
	if !ok {
		return nil
	}
	l.Tags = nil
	for _, t := range v.List() {
		tag := t.Text()
		if t.Kind() != row.Text || tag == "" || strings.TrimSpace(tag) != tag ||
			!isLine(tag, maxTag) {
			return refuse("tags", "a tag is a string of 1 to %d characters, without control "+
				"characters or spaces at its ends", maxTag)
		}
		l.Tags = append(l.Tags, tag)
	}
	slices.Sort(l.Tags)
	l.Tags = slices.Compact(l.Tags)
	if len(l.Tags) > maxTags {
		return refuse("tags", "there are more than %d", maxTags)
	}
	return nil
}

// isLine reports whether s has at most most characters and no control ones,
// nor such as change the direction of what follows them.
func isLine(s string, most int) bool {
	if utf8.RuneCountInString(s) > most {
		return false
	}
	for _, c := range s {
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028' ||
			c == '\u2029' {
			return false
		}
	}
	return true
}

// fillTimes reads when a link begins and ends.
func fillTimes(l *Link, d *Draft) error {
	for _, member := range []struct {
		name  string
		field *int64
	}{{"starts_at", &l.StartsAt}, {"expires_at", &l.ExpiresAt}} {
		v, ok := d.get(member.name)
		if !ok {
			continue
		}
		ms, err := millis(member.name, v)
		if err != nil {
			return err
		}
		*member.field = ms
	}
	return nil
}

// millis returns a time in milliseconds since 1970; 0 for null.
func millis(field string, v row.Value) (int64, error) {
	if v.IsNull() {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil || at.Year() < 1970 || at.UnixMilli() == 0 {
		return 0, refuse(field, "it is not a time such as 2026-12-31T23:59:59Z")
	}
	return at.UnixMilli(), nil
}
