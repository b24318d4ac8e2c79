package memcached

import (
	"errors"
	"strconv"
)

// OnRestart has f called when the server has been restarted and so forgotten
// everything. That shows when a connection is made, which the next load after a
// restart does: the old ones are gone.
func (s *Source) OnRestart(f func()) { s.onRestart.Store(&f) }

// recognize asks which process answers on c, and tells when it is another than
// before. Behind one name there may be several servers: then it tells more often
// than it must.
func (s *Source) recognize(c *conn) error {
	stats, err := c.stats()
	var reply *replyError
	switch {
	case errors.As(err, &reply): // a proxy may have no stats
		return nil
	case err != nil:
		return err
	}
	who := processOf(stats)
	if who == "" {
		return nil
	}
	before := s.server.Swap(&who)
	if before == nil || *before == who {
		return nil
	}
	s.opts.Log.Warn("memcached has been restarted: what was kept of it is forgotten",
		"addr", s.at.String())
	if f := s.onRestart.Load(); f != nil {
		(*f)()
	}
	return nil
}

// processOf names a process by its number and the second of its start; "" when
// the stats do not tell.
func processOf(stats map[string]string) string {
	now, err1 := strconv.ParseInt(stats["time"], 10, 64)
	up, err2 := strconv.ParseInt(stats["uptime"], 10, 64)
	if stats["pid"] == "" || err1 != nil || err2 != nil {
		return ""
	}
	return stats["pid"] + "@" + strconv.FormatInt(now-up, 10)
}
