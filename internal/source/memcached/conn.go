package memcached

import (
	"bufio"
	"net"
	"strconv"
	"time"
)

// maxCommand bounds the length of a get, and so how many keys one has. The
// server bounds it too, further up.
const maxCommand = 8 << 10

// A conn is one connection while somebody has it. Its methods send one command
// each and read the answer to its end; after an error it is of no use.
type conn struct {
	net.Conn
	r        *bufio.Reader
	out      []byte
	born     time.Time
	maxValue int
}

func newConn(nc net.Conn, maxValue int) *conn {
	return &conn{
		Conn: nc, r: bufio.NewReaderSize(nc, 16<<10), born: time.Now(), maxValue: maxValue,
	}
}

// close closes the connection. Nobody can do anything about its error.
func (c *conn) close() { _ = c.Conn.Close() }

// send sends what is in c.out.
func (c *conn) send() error {
	_, err := c.Write(c.out)
	if cap(c.out) > 64<<10 { // a large value was in it
		c.out = nil
	}
	return err
}

// get reads the values of keys, each of which is there once, and calls each for
// those that there are.
func (c *conn) get(keys []string, each func(item)) error {
	for len(keys) > 0 {
		c.out = append(c.out[:0], "get"...)
		n := 0
		for n < len(keys) && (n == 0 || len(c.out)+len(keys[n]) < maxCommand) {
			c.out = append(append(c.out, ' '), keys[n]...)
			n++
		}
		c.out = append(c.out, "\r\n"...)
		if err := c.send(); err != nil {
			return err
		}
		if err := readItems(c.r, keys[:n], false, c.maxValue, each); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// gets reads one value with its cas. It returns nil when there is none.
func (c *conn) gets(key string) (*item, error) {
	c.out = append(append(append(c.out[:0], "gets "...), key...), "\r\n"...)
	if err := c.send(); err != nil {
		return nil, err
	}
	var found *item
	err := readItems(c.r, []string{key}, true, c.maxValue, func(it item) { found = &it })
	return found, err
}

// store sends add (of is nil) or cas (of is the value to replace) and returns
// the one word of the answer. expire is in seconds: 0 is never, -1 at once.
func (c *conn) store(key string, of *item, expire int64, value []byte) (string, error) {
	c.out = c.out[:0]
	var flags uint32
	if of == nil {
		c.out = append(c.out, "add "...)
	} else {
		c.out, flags = append(c.out, "cas "...), of.flags
	}
	c.out = append(append(c.out, key...), ' ')
	c.out = append(strconv.AppendUint(c.out, uint64(flags), 10), ' ')
	c.out = append(strconv.AppendInt(c.out, expire, 10), ' ')
	c.out = strconv.AppendInt(c.out, int64(len(value)), 10)
	if of != nil {
		c.out = strconv.AppendUint(append(c.out, ' '), of.cas, 10)
	}
	c.out = append(append(append(c.out, "\r\n"...), value...), "\r\n"...)
	if err := c.send(); err != nil {
		return "", err
	}
	return readWord(c.r, "STORED", "NOT_STORED", "EXISTS", "NOT_FOUND")
}

// login shows user and password the way memcached -Y wants them: as a value that
// is stored before anything else is asked for. The key is of no importance.
func (c *conn) login(user, password string) error {
	text := user + " " + password
	c.out = append(c.out[:0], "set auth 0 0 "...)
	c.out = strconv.AppendInt(c.out, int64(len(text)), 10)
	c.out = append(append(append(c.out, "\r\n"...), text...), "\r\n"...)
	if err := c.send(); err != nil {
		return err
	}
	_, err := readWord(c.r, "STORED")
	return err
}

// version returns the server's version.
func (c *conn) version() (string, error) {
	c.out = append(c.out[:0], "version\r\n"...)
	if err := c.send(); err != nil {
		return "", err
	}
	return readVersion(c.r)
}

// stats returns the server's counters and settings by name.
func (c *conn) stats() (map[string]string, error) {
	c.out = append(c.out[:0], "stats\r\n"...)
	if err := c.send(); err != nil {
		return nil, err
	}
	return readStats(c.r)
}
