package transfer

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Resolve returns the link of a code from an export, without a server: the one
// that has just this code, or else one that differs by case alone. It is the last
// of its name in the file, as a restore would leave it. A file without the code
// is an error.
func Resolve(r io.Reader, code string) (Link, error) {
	var exact, folded *Link
	for link, err := range Read(r, Auto) {
		if err != nil {
			switch err.(type) {
			case *Refusal, *Loss:
				continue
			}
			return Link{}, err
		}
		switch {
		case link.Code == code:
			exact = &link
		case strings.EqualFold(link.Code, code):
			folded = &link
		}
	}
	if exact == nil {
		exact = folded
	}
	if exact == nil {
		return Link{}, fmt.Errorf("no link has the code %q", clip(code))
	}
	return *exact, nil
}

// Off says why a link leads nowhere at a time, or "" when it does.
func (l *Link) Off(now time.Time) string {
	switch {
	case l.Enabled != nil && !*l.Enabled:
		return "it is switched off"
	case l.StartsAt != nil && now.Before(*l.StartsAt):
		return "it begins at " + l.StartsAt.Format(time.RFC3339)
	case l.ExpiresAt != nil && !now.Before(*l.ExpiresAt):
		return "it expired at " + l.ExpiresAt.Format(time.RFC3339)
	}
	return ""
}
