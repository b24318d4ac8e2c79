package config

import (
	"fmt"
	"strconv"
	"strings"
)

// An AccessLog says of how many requests one has a line: 0 is off, 1 is all. In a file it
// is off, all or 1/N.
type AccessLog int

// fewestLines is the largest N.
const fewestLines = 1_000_000

// setText reads the text.
func (a *AccessLog) setText(s string) error {
	part, sampled := strings.CutPrefix(s, "1/")
	n, err := strconv.Atoi(part)
	switch {
	case s == "off":
		*a = 0
	case s == "all":
		*a = 1
	case !sampled || err != nil || !onlyDigits.MatchString(part):
		return fmt.Errorf("want off, all or 1/N, such as 1/100, found %q", s)
	case n < 1 || n > fewestLines:
		return fmt.Errorf("want 1/1 to 1/%d, found %q", fewestLines, s)
	default:
		*a = AccessLog(n)
	}
	return nil
}

// String returns the text.
func (a AccessLog) String() string {
	switch a {
	case 0:
		return "off"
	case 1:
		return "all"
	}
	return "1/" + strconv.Itoa(int(a))
}

// MarshalYAML writes the text.
func (a AccessLog) MarshalYAML() (any, error) { return a.String(), nil }

// AccessFile returns the path of the access log, "" for standard output. A path
// in the file is relative to the file.
func (c *Config) AccessFile() string {
	if c.Log.AccessFile == "" {
		return ""
	}
	return c.relative("log.access_file", c.Log.AccessFile)
}
