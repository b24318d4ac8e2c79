package memcache

import (
	"bytes"
	"strconv"
)

// The faults of a command, as memcached words them.
const (
	Error       = "ERROR"
	BadLine     = "CLIENT_ERROR bad command line format"
	BadData     = "CLIENT_ERROR bad data chunk"
	BadExptime  = "CLIENT_ERROR invalid exptime argument"
	BadFlag     = "CLIENT_ERROR invalid flag"
	BadOrDouble = "CLIENT_ERROR invalid or duplicate flag"
	Double      = "CLIENT_ERROR duplicate flag"
	TooMany     = "CLIENT_ERROR options flags are too long"
	TooLarge    = "SERVER_ERROR object too large for cache"
)

// Next reads the command at the front of in into c and returns how many bytes it takes.
// When n is 0 the command is not whole: nothing can be said before want bytes of in are
// there. After an error nothing more can be read.
func Next(in []byte, c *Command, l *Limits) (n, want int, err error) {
	c.reset()
	if len(in) == 0 {
		return 0, 1, nil
	}
	switch {
	case in[0] == 0x80:
		return 0, 0, ErrBinary
	case in[0] == 0x16 && len(in) > 1 && in[1] == 0x03:
		return 0, 0, ErrTLS
	}
	end := bytes.IndexByte(in, '\n')
	if end < 0 {
		if len(in) > maxLine && (len(in) > l.Line || !isGet(in)) {
			return 0, 0, ErrLine
		}
		return 0, len(in) + 1, nil
	}
	if end > l.Line {
		return 0, 0, ErrLine
	}
	line := in[:end]
	if end > 0 && in[end-1] == '\r' {
		line = in[:end-1]
	}
	n = end + 1
	name := c.split(line)
	if isVerb(name) {
		return 0, 0, ErrHTTP
	}
	c.parse(name)
	if !c.Op.Stores() {
		return n, 0, nil
	}
	return c.value(in, n, l)
}

// value takes the value behind the line of a storage command, which ends at n.
func (c *Command) value(in []byte, n int, l *Limits) (int, int, error) {
	if c.Fault != "" { // with nothing to swallow, as memcached has it: a command follows
		return n, 0, nil
	}
	size := c.Swallow - 2
	if size > l.Value {
		c.Fault = TooLarge
		return n, 0, nil
	}
	c.Swallow = 0
	end := n + size + 2
	if len(in) < end {
		return 0, end, nil
	}
	c.Data = in[n : n+size : n+size]
	if in[end-2] != '\r' || in[end-1] != '\n' {
		c.Fault = BadData
	}
	return end, 0, nil
}

// isGet reports whether a line that has no end yet may become long.
func isGet(in []byte) bool {
	in = bytes.TrimLeft(in, " ")
	return bytes.HasPrefix(in, []byte("get ")) || bytes.HasPrefix(in, []byte("gets "))
}

// isVerb reports whether a browser has been made to send this.
func isVerb(name []byte) bool {
	switch string(name) {
	case "GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE",
		"Host:", "PRI":
		return true
	}
	return false
}

// split takes a line apart at its blanks. What is behind the name becomes c.Args.
func (c *Command) split(line []byte) (name []byte) {
	for {
		line = bytes.TrimLeft(line, " ")
		if len(line) == 0 {
			return name
		}
		word := line
		if i := bytes.IndexByte(line, ' '); i >= 0 {
			word = line[:i:i]
		}
		line = line[len(word):]
		if name == nil {
			name = word
		} else {
			c.Args = append(c.Args, word)
		}
	}
}

// opOf returns what a command of this name does.
func opOf(name []byte) Op {
	// Fast path: what is asked most.
	switch string(name) {
	case "get":
		return Get
	case "gets":
		return Gets
	case "mg":
		return MetaGet
	}
	return names[string(name)]
}

// parse reads the words of the line.
func (c *Command) parse(name []byte) {
	c.Op = opOf(name)
	args := len(c.Args)
	if c.Op.Meta() {
		c.meta()
		return
	}
	switch c.Op {
	case Get, Gets:
		c.want(1, -1)
		c.keys(c.Args)
	case Gat, Gats:
		if c.want(1, -1) {
			c.exptime(c.Args[0], BadExptime)
			c.keys(c.Args[1:])
		}
	case Touch:
		if c.want(2, 3) && c.key(c.Args[0]) {
			c.exptime(c.Args[1], BadExptime)
		}
	case Set, Add, Replace, Append, Prepend, CAS:
		c.store()
	case Incr, Decr:
		if c.want(2, 3) && c.key(c.Args[0]) {
			c.number(&c.Delta, c.Args[1], "CLIENT_ERROR invalid numeric delta argument")
		}
	case Delete:
		c.remove()
	case FlushAll:
		if c.want(0, 2) && args > 0 && string(c.Args[0]) != "noreply" {
			c.exptime(c.Args[0], BadExptime)
		}
	case Verbosity:
		var level uint64
		if c.want(1, 2) {
			c.number(&level, c.Args[0], BadLine)
		}
	case MetaDebug:
		c.debug()
	case MemLimit:
		var megabytes uint64
		if c.want(1, 2) {
			c.number(&megabytes, c.Args[0], Error)
		}
	case Stats, Version, Quit, Shutdown, Crawler, MetaNoop:
	default:
		c.Fault = Error
	}
	c.Noreply = c.quiet()
}

// debug reads me. A b right behind the key says that this is in base64; other words are
// passed over.
func (c *Command) debug() {
	switch {
	case len(c.Args) == 0:
		c.Fault = BadLine
	case !c.key(c.Args[0]):
	case len(c.Args) > 1 && string(c.Args[1]) == "b" && !c.decodeKey():
		c.Fault = BadLine
	}
}

// quiet reports whether the last word of a command that may say so is noreply.
func (c *Command) quiet() bool {
	switch c.Op {
	case Get, Gets, Gat, Gats, Stats, Version, Quit, Shutdown, Crawler, MetaNoop, MetaDebug:
		return false
	}
	n := len(c.Args)
	return n > 0 && string(c.Args[n-1]) == "noreply"
}

// want demands a number of words behind the name; most is -1 for any.
func (c *Command) want(least, most int) bool {
	if n := len(c.Args); n < least || most >= 0 && n > most {
		c.Fault = Error
	}
	return c.Fault == ""
}

// keys takes keys until one is wrong.
func (c *Command) keys(list [][]byte) {
	if c.Fault != "" {
		return
	}
	for _, k := range list {
		if !c.key(k) {
			return
		}
	}
}

func (c *Command) exptime(text []byte, fault string) {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil {
		c.Fault = fault
	}
	c.Exptime = n
}

func (c *Command) number(to *uint64, text []byte, fault string) {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		c.Fault = fault
	}
	*to = n
}

// store reads the line of a storage command. c.Swallow is the size of what follows, with
// its end.
func (c *Command) store() {
	words := 4
	if c.Op == CAS {
		words = 5
	}
	if !c.want(words, words+1) || !c.key(c.Args[0]) {
		return
	}
	flags, err1 := strconv.ParseUint(string(c.Args[1]), 10, 32)
	size, err2 := strconv.ParseUint(string(c.Args[3]), 10, 31)
	c.exptime(c.Args[2], BadLine)
	if c.Op == CAS {
		c.number(&c.Unique, c.Args[4], BadLine)
	}
	if err1 != nil || err2 != nil || size > longestValue {
		c.Fault = BadLine
	}
	c.Flags = uint32(flags)
	if c.Fault == "" {
		c.Swallow = int(size) + 2
	}
}

// longestValue is how many bytes of a value can be said, as memcached has it: beyond it
// nothing is swallowed.
const longestValue = 1<<31 - 3

// remove reads delete: a time that is not 0 was taken long ago.
func (c *Command) remove() {
	if !c.want(1, 3) {
		return
	}
	more := c.Args[1:]
	zero := len(more) > 0 && string(more[0]) == "0"
	switch {
	case len(more) == 0, len(more) == 1 && (zero || c.quiet()), len(more) == 2 && zero && c.quiet():
		c.key(c.Args[0])
	default:
		c.Fault = BadLine + ".  Usage: delete <key> [noreply]"
	}
}
