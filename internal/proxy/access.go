package proxy

import (
	"net"

	"github.com/hotrow/hotrow/internal/accesslog"
)

// AccessColumns are the columns of the proxy's access log: chocon's, under its
// names, and then ours.
func AccessColumns() []accesslog.Column {
	text := func(name string, most int) accesslog.Column {
		return accesslog.Column{Name: name, Kind: accesslog.Text, Max: most}
	}
	return []accesslog.Column{
		text("time", 40), text("remote_addr", 64), text("method", 16), text("uri", 2048),
		{Name: "status", Kind: accesslog.Int}, {Name: "size", Kind: accesslog.Int},
		{Name: "ua", Kind: accesslog.Text, Max: 512, Always: true}, // as chocon's lines
		{Name: "ptime", Kind: accesslog.Duration}, text("host", 256),
		text("chocon_req", 128),
		text("proto", 8), text("upstream_addr", 128),
		{Name: "upstream_ms", Kind: accesslog.Count}, {Name: "reused", Kind: accesslog.Count},
		{Name: "retries", Kind: accesslog.Count}, {Name: "bytes_in", Kind: accesslog.Count},
	}
}

// Access returns what writes entries to a log with AccessColumns.
func Access(l *accesslog.Log) func(*Entry) {
	var second int64 // guarded, as stamp, by the log: it fills one line at a time
	var stamp string
	return func(e *Entry) {
		l.Record(e.Time, e.Took, false, func(r *accesslog.Ring, _ int64) {
			if now := e.Time.Unix(); now != second {
				second, stamp = now, e.Time.Format(chocon)
			}
			r.Text(stamp)
			r.Text(addressOf(e.Remote))
			r.Text(string(e.Method))
			r.Text(string(e.URI))
			r.Int(int64(e.Status))
			r.Int(e.Size)
			r.Text(string(e.Agent))
			r.Text(string(e.Host))
			r.Text(string(e.ID))
			r.Text(e.Proto)
			r.Text(e.Upstream)
			r.Int(e.Waited.Milliseconds())
			r.Int(flag(e.Reused))
			r.Int(int64(e.Retries))
			r.Int(e.BytesIn)
		})
	}
}

// addressOf returns an address without its port, as chocon writes it.
func addressOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote // a unix socket has none
	}
	return host
}

// chocon is how chocon writes a time.
const chocon = "2006/01/02 15:04:05 MST"

// flag returns 1 for true.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
