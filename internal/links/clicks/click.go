package clicks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/netip"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// A click is a record and what it means: a raw row to be.
type click struct {
	seq     clicklog.Seq
	link    int64
	at      int64
	kind    Kind
	private bool // wants not to be told apart
	ip      []byte
	country string
	visitor uint64 // 0: not known
	agent   *agent
	ref     *referrer // nil: none
	path    string
}

// A reader of records: it turns them into clicks. It is for one goroutine at a
// time.
type meanings struct {
	words     *dictionary
	countries *Countries
	policy    IPPolicy
	mac       hash.Hash // keyed with the salt of the day; nil: visitors are not told apart
	sum       [sha256.Size]byte
}

// salted makes the meanings tell visitors apart by another salt.
func (m *meanings) salted(salt []byte) { m.mac = hmac.New(sha256.New, salt) }

// read fills c with what a record means. c keeps no bytes of r but ip's array.
func (m *meanings) read(r *clicklog.Record, c *click) {
	private := r.Flags&clicklog.FlagPrivate != 0
	*c = click{seq: r.Seq, link: max(r.Link, Orphans), at: r.At, private: private}
	c.agent = m.words.agent(r.Agent, private)
	c.ref = m.words.referrer(r.Referrer, private)
	c.kind = kindOf(r.Flags, c.agent.bot)
	if len(r.Path) > 0 {
		c.path = clean(r.Path, clicklog.MaxPath)
	}
	c.country = Nowhere
	if r.IP == ([16]byte{}) {
		return
	}
	c.country = m.countries.Find(r.IP)
	if private {
		return
	}
	c.visitor = m.visitor(r)
	c.ip = kept(m.policy, &r.IP)
}

// visitor returns who it was, for the rest of the day: 8 bytes of an HMAC of the
// whole address and the user agent.
func (m *meanings) visitor(r *clicklog.Record) uint64 {
	if m.mac == nil {
		return 0
	}
	m.mac.Reset()
	m.mac.Write(r.IP[:])
	m.mac.Write(r.Agent)
	return binary.BigEndian.Uint64(m.mac.Sum(m.sum[:0]))
}

// kept returns what a policy keeps of an address: 4 or 16 bytes, or nil.
func kept(p IPPolicy, ip *[16]byte) []byte {
	if p == NoIP {
		return nil
	}
	addr := netip.AddrFrom16(*ip)
	if addr.Is4In6() {
		b := [4]byte(ip[12:])
		if p == MaskIP {
			b[3] = 0
		}
		return b[:]
	}
	b := *ip
	if p == MaskIP {
		clear(b[6:])
	}
	return b[:]
}
