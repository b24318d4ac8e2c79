package clicks

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Countries says in which country an address is. It is read from lists of
// "first,last,CC" lines, such as the public-domain (CC0) asn-country and
// geo-whois-asn-country of ip-location-db.
type Countries struct {
	ranges []addressRange // by first, without overlaps
}

// An addressRange is addresses of one country; IPv4 is mapped into IPv6.
type addressRange struct {
	first, last netip.Addr
	country     [2]byte
}

// LoadCountries reads files, of IPv4 or IPv6 addresses each or of both.
func LoadCountries(paths ...string) (*Countries, error) {
	c := &Countries{}
	for _, path := range paths {
		if err := c.load(path); err != nil {
			return nil, fmt.Errorf("load countries: %w", err)
		}
	}
	c.sort()
	return c, nil
}

// load adds a file.
func (c *Countries) load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := c.read(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// read adds the lines of a list.
func (c *Countries) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		one, err := parseRange(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		c.ranges = append(c.ranges, one)
	}
	return lines.Err()
}

// parseRange reads "1.0.0.0,1.0.0.255,AU".
func parseRange(line string) (addressRange, error) {
	parts := strings.Split(line, ",")
	if len(parts) < 3 {
		return addressRange{}, fmt.Errorf("%q is not first,last,country", line)
	}
	var r addressRange
	var err error
	if r.first, err = parseAddr(parts[0]); err != nil {
		return r, err
	}
	if r.last, err = parseAddr(parts[1]); err != nil {
		return r, err
	}
	code := strings.ToUpper(strings.Trim(parts[2], `" `))
	if len(code) != 2 || !isUpper(code[0]) || !isUpper(code[1]) || r.last.Less(r.first) {
		return r, fmt.Errorf("%q is not first,last,country with a country of two letters", line)
	}
	r.country = [2]byte([]byte(code))
	return r, nil
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// parseAddr reads an address in its 16 bytes.
func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(strings.Trim(s, `" `))
	if err != nil {
		return a, err
	}
	return netip.AddrFrom16(a.As16()), nil
}

// sort prepares look-ups.
func (c *Countries) sort() {
	slices.SortFunc(c.ranges, func(a, b addressRange) int { return a.first.Compare(b.first) })
	c.ranges = slices.Clip(c.ranges)
}

// Len returns how many ranges there are.
func (c *Countries) Len() int {
	if c == nil {
		return 0
	}
	return len(c.ranges)
}

// Find returns the country of an address, Nowhere if it is not known.
func (c *Countries) Find(ip [16]byte) string {
	if c == nil {
		return Nowhere
	}
	addr := netip.AddrFrom16(ip)
	i, found := slices.BinarySearchFunc(c.ranges, addr, func(r addressRange, a netip.Addr) int {
		if r.last.Less(a) {
			return -1
		}
		if a.Less(r.first) {
			return 1
		}
		return 0
	})
	if !found {
		return Nowhere
	}
	return string(c.ranges[i].country[:])
}
