package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// Duration is a time.Duration written as Go writes it: 250ms, 10s, 1h30m.
type Duration time.Duration

// setText reads a duration. It must have a unit and may not be negative.
func (d *Duration) setText(s string) error {
	v, err := time.ParseDuration(s)
	switch {
	case err != nil && onlyDigits.MatchString(s):
		return fmt.Errorf("want a duration with its unit, such as %ss or %sms", s, s)
	case err != nil:
		return fmt.Errorf("want a duration such as 250ms, 10s or 1h30m, found %q", s)
	case v < 0:
		return fmt.Errorf("want a duration that is not negative, found %q", s)
	}
	*d = Duration(v)
	return nil
}

// String returns the shortest text: "1h" and not "1h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalYAML writes the text.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// Size is a number of bytes written with an IEC unit: 512MiB.
type Size int64

var (
	onlyDigits = regexp.MustCompile(`^[0-9]+$`)
	sizeText   = regexp.MustCompile(`^([0-9]+) ?([A-Za-z]+)$`)
)

// The units of sizes, by their factor of 1024.
var sizeUnits = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// setText reads a size, which must have a unit.
func (z *Size) setText(s string) error {
	if onlyDigits.MatchString(s) {
		return fmt.Errorf("want a size with its unit, such as %sB or %sMiB", s, s)
	}
	m := sizeText.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("want a size such as 64KiB, 512MiB or 2GiB, found %q", s)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	for i, unit := range sizeUnits {
		if unit != m[2] {
			continue
		}
		if shift := 10 * i; err == nil && n <= math.MaxInt64>>shift {
			*z = Size(n << shift)
			return nil
		}
		return fmt.Errorf("size %q is too large", s)
	}
	return fmt.Errorf("unknown unit %q: want %s%s", m[2], oneOf(sizeUnits),
		row.DidYouMean(m[2], sizeUnits))
}

// String returns the size in the largest unit that divides it.
func (z Size) String() string {
	i, n := 0, int64(z)
	for n != 0 && n%1024 == 0 && i+1 < len(sizeUnits) {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + sizeUnits[i]
}

// MarshalYAML writes the text.
func (z Size) MarshalYAML() (any, error) { return z.String(), nil }

// A Secret is a value that is never shown: the URL of a database, whose
// password is masked wherever it is printed.
type Secret string

var errEmptySecret = errors.New("is empty")

// setText keeps the text; the decoder has resolved file: before.
func (s *Secret) setText(text string) error {
	if strings.TrimSpace(text) == "" {
		return errEmptySecret
	}
	*s = Secret(text)
	return nil
}

// Reveal returns the value itself.
func (s Secret) Reveal() string { return string(s) }

// String returns the value with its password masked.
func (s Secret) String() string { return maskSecrets(string(s)) }

// GoString keeps %#v from showing the value.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalYAML writes the masked text.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
