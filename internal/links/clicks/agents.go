package clicks

import (
	"crypto/sha256"

	"github.com/mileusna/useragent"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// Sizes of the caches of dictionaries: how many entries each of two generations
// has.
const cachedTexts = 16_384

// A word is an entry of a dictionary table.
type word struct {
	id   int64 // 0: not known yet
	hash [16]byte
}

// An agent is what a user agent says.
type agent struct {
	word
	text    string // "" for those who do not want to be told apart
	browser string
	os      string
	device  string
	bot     bool
}

// A referrer is an entry of click_refs.
type referrer struct {
	word
	text string
	host string
}

// hashOf returns the key of an entry.
func hashOf(parts ...string) [16]byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return [16]byte(h.Sum(nil))
}

// A dictionary remembers what texts mean, and their ids in the database. It is for
// one goroutine at a time.
type dictionary struct {
	bots     *bots
	agents   *recent[string, *agent]
	coarse   *recent[string, *agent] // of those who do not want to be told apart
	refs     *recent[string, *referrer]
	origins  *recent[string, *referrer] // likewise: without the path
	noAgent  *agent
	parsings uint64 // texts that were not remembered
}

// newDictionary returns an empty one.
func newDictionary() (*dictionary, error) {
	b, err := newBots(crawlers)
	if err != nil {
		return nil, err
	}
	return &dictionary{
		bots:    b,
		agents:  newRecent[string, *agent](cachedTexts),
		coarse:  newRecent[string, *agent](cachedTexts),
		refs:    newRecent[string, *referrer](cachedTexts),
		origins: newRecent[string, *referrer](cachedTexts),
		noAgent: &agent{browser: Unknown, os: Unknown, device: Unknown, bot: true,
			word: word{hash: hashOf("ua", "")}},
	}, nil
}

// agent returns what a User-Agent means. Without one it is a bot: every browser
// sends it.
func (d *dictionary) agent(text []byte, private bool) *agent {
	if len(text) == 0 {
		return d.noAgent
	}
	if private {
		if a, ok := d.coarse.get(string(text)); ok {
			return a
		}
	} else if a, ok := d.agents.get(string(text)); ok {
		return a
	}
	d.parsings++
	a := d.parse(clean(text, clicklog.MaxAgent))
	if !private {
		d.agents.put(string(text), a)
		return a
	}
	a.text = ""
	bot := ""
	if a.bot {
		bot = "bot"
	}
	a.hash = hashOf("coarse", a.browser, a.os, a.device, bot)
	d.coarse.put(string(text), a)
	return a
}

// parse reads a user agent.
func (d *dictionary) parse(text string) *agent {
	ua := useragent.Parse(text)
	a := &agent{text: text, browser: named(ua.Name), os: named(ua.OS), device: "other",
		bot: d.bots.match(text), word: word{hash: hashOf("ua", text)}}
	switch {
	case a.bot:
		a.device = "bot"
	case ua.Tablet:
		a.device = "tablet"
	case ua.Mobile:
		a.device = "mobile"
	case ua.Desktop:
		a.device = "desktop"
	}
	return a
}

// named returns a value of a dimension.
func named(s string) string {
	if s == "" {
		return Unknown
	}
	return cut(s, maxValue)
}

// referrer returns what a Referer means; nil: there is none.
func (d *dictionary) referrer(text []byte, private bool) *referrer {
	if len(text) == 0 {
		return nil
	}
	known := d.refs
	if private {
		known = d.origins
	}
	if r, ok := known.get(string(text)); ok {
		return r
	}
	d.parsings++
	r := &referrer{text: clean(text, clicklog.MaxReferrer)}
	r.host = hostOf(r.text)
	if private {
		r.text = originOf(r.text)
	}
	r.hash = hashOf("ref", r.text, r.host)
	known.put(string(text), r)
	return r
}
