package memcache

import "strconv"

// The flags that a meta command may have. Those of proxies, P and L, are passed over.
const (
	getFlags    = "bCEKNORTPLcfhklqstuv"
	setFlags    = "bCEFIMNOSTPLckq"
	deleteFlags = "bCEIOTPLkqx"
	arithFlags  = "bCEDJMNOTPLckqtv"
)

// meta reads the words of a meta command.
func (c *Command) meta() {
	switch {
	case len(c.Args) == 0:
		c.Fault = Error
		return
	case len(c.Args)+1 >= maxTokens:
		c.Fault = TooMany
		return
	case !c.key(c.Args[0]):
		return
	}
	flags := c.Args[1:]
	if c.Op == MetaSet {
		if len(flags) == 0 {
			c.Fault = BadLine
			return
		}
		size, err := strconv.ParseUint(string(flags[0]), 10, 31)
		if err != nil || size > longestValue {
			c.Fault = BadLine
			return
		}
		c.Swallow, flags = int(size)+2, flags[1:]
	}
	for _, f := range flags {
		if c.Fault = c.flag(f); c.Fault != "" {
			return
		}
	}
	c.Noreply = c.Has('q')
	if c.Has('b') {
		c.decodeKey()
	}
}

// MetaFlags returns the flags of a meta command, in the order in which they were sent.
func (c *Command) MetaFlags() [][]byte {
	if c.Op == MetaSet {
		return c.Args[2:]
	}
	return c.Args[1:]
}

// flag reads one flag and what it carries.
func (c *Command) flag(f []byte) string {
	known, fault, double := getFlags, BadFlag, Double
	switch c.Op {
	case MetaSet:
		known = setFlags
	case MetaDelete:
		known, fault, double = deleteFlags, BadOrDouble, BadOrDouble
	case MetaArith:
		known, fault, double = arithFlags, BadOrDouble, BadOrDouble
	}
	letter, value := f[0], f[1:]
	if !contains(known, letter) {
		return fault
	}
	if c.Has(letter) {
		return double
	}
	c.sent |= bit(letter)
	switch letter {
	case 'C':
		c.number(&c.Unique, value, "CLIENT_ERROR bad token in command line format")
	case 'D':
		c.number(&c.Delta, value, BadOrDouble)
	case 'J':
		c.number(&c.Initial, value, BadOrDouble)
	case 'F':
		flags, err := strconv.ParseUint(string(value), 10, 32)
		if c.Flags = uint32(flags); err != nil {
			return "CLIENT_ERROR bad token in command line format"
		}
	case 'T':
		c.exptime(value, "CLIENT_ERROR bad token in command line format")
	case 'N', 'R':
		n, err := strconv.ParseInt(string(value), 10, 64)
		if n = int64(int32(n)); letter == 'N' { // as memcached has it
			c.Vivify = n
		} else {
			c.Recache = n
		}
		if err != nil {
			return "CLIENT_ERROR bad token in command line format"
		}
	case 'E', 'S':
		var n uint64
		c.number(&n, value, "CLIENT_ERROR bad token in command line format")
	case 'O':
		if len(value) >= maxOpaque {
			return "CLIENT_ERROR opaque token too long"
		}
	case 'M':
		return c.mode(value)
	}
	return c.Fault
}

// mode reads what M carries.
func (c *Command) mode(value []byte) string {
	modes, name := "EARPSearps", "ms"
	if c.Op == MetaArith {
		modes, name = "ID+-id", "ma"
	}
	if len(value) == 0 || !contains(modes, value[0]) {
		return "CLIENT_ERROR invalid mode for " + name + " M token"
	}
	switch m := value[0]; m {
	case '+':
		c.Mode = 'I'
	case '-':
		c.Mode = 'D'
	default:
		c.Mode = m &^ 0x20
	}
	return ""
}

func contains(set string, b byte) bool {
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// An Item is what there is under a key, as far as a reply tells of it.
type Item struct {
	Key    []byte
	Flags  uint32
	Unique uint64
	TTL    int64 // seconds that it is good for; -1: it does not expire
	Fresh  bool  // it has just been loaded: nobody has asked for it before
	Stale  bool
	Won    bool // the client is the one to make it anew
	Sent   bool // another client was told so
	Value  []byte
}

// AppendMeta appends the reply of a meta command that has an item: HD or, with the value,
// VA, and what its flags ask for.
func AppendMeta(dst []byte, c *Command, it *Item, value bool) []byte {
	if value {
		dst = strconv.AppendInt(append(dst, "VA "...), int64(len(it.Value)), 10)
	} else {
		dst = append(dst, "HD"...)
	}
	dst = appendFlags(dst, c, it)
	for _, s := range [...]struct {
		is   bool
		text string
	}{{it.Sent, " Z"}, {it.Stale, " X"}, {it.Won, " W"}} {
		if s.is {
			dst = append(dst, s.text...)
		}
	}
	dst = append(dst, "\r\n"...)
	if value {
		dst = append(append(dst, it.Value...), "\r\n"...)
	}
	return dst
}

// AppendCode appends the reply of a meta command without an item: a code of two letters
// and what identifies the request.
func AppendCode(dst []byte, c *Command, code string) []byte {
	dst = append(dst, code...)
	return append(appendFlags(dst, c, nil), "\r\n"...)
}

// appendFlags appends what the flags of c ask for. Without an item that is what was sent.
func appendFlags(dst []byte, c *Command, it *Item) []byte {
	for _, f := range c.MetaFlags() {
		switch f[0] {
		case 'O':
			dst = append(append(dst, ' '), f...)
			continue
		case 'k':
			dst = append(append(dst, ' ', 'k'), c.Args[0]...)
			continue
		}
		if it == nil {
			if c.Op == MetaSet && f[0] == 'c' { // nothing was stored
				dst = append(dst, " c0"...)
			}
			continue
		}
		switch f[0] {
		case 's':
			dst = strconv.AppendInt(append(dst, ' ', 's'), int64(len(it.Value)), 10)
		case 'f':
			dst = strconv.AppendUint(append(dst, ' ', 'f'), uint64(it.Flags), 10)
		case 'c':
			dst = strconv.AppendUint(append(dst, ' ', 'c'), it.Unique, 10)
		case 't':
			dst = strconv.AppendInt(append(dst, ' ', 't'), it.TTL, 10)
		case 'l':
			dst = append(dst, " l0"...)
		case 'h':
			if it.Fresh {
				dst = append(dst, " h0"...)
			} else {
				dst = append(dst, " h1"...)
			}
		}
	}
	if c.Has('b') {
		dst = append(dst, ' ', 'b')
	}
	return dst
}
