package stress

import (
	"context"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
)

// A link is the network between hotrow and its database, with a switch.
type link struct {
	t     testing.TB
	proxy *toxiproxy.Proxy
	url   string // of the database, through the link
}

// newLink puts a proxy in front of the database at to.
func newLink(t testing.TB, to string) *link {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var empty toxiproxy.ApiServer
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zeroOf(empty.Logger))
	l := &link{t: t, proxy: toxiproxy.NewProxy(server, "link", "127.0.0.1:0", u.Host)}
	if err := l.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.proxy.Stop)
	u.Host = l.proxy.Listen
	l.url = u.String()
	return l
}

// zeroOf returns the zero value of what p points to: a logger that is silent.
func zeroOf[T any](*T) (zero T) { return zero }

// cut closes every connection and takes no new one, until mend.
func (l *link) cut() { l.proxy.Stop() }

func (l *link) mend() {
	l.t.Helper()
	if err := l.proxy.Start(); err != nil {
		l.t.Fatal(err)
	}
}

// swallow lets connections stay up and nothing get through, until spit. Then
// the connections are closed: what was swallowed is lost.
func (l *link) swallow() {
	l.t.Helper()
	for _, stream := range []string{"upstream", "downstream"} {
		_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(
			`{"name": "` + stream + `", "type": "timeout", "stream": "` + stream +
				`", "attributes": {"timeout": 0}}`))
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *link) spit() { l.proxy.Toxics.ResetToxics(context.Background()) }
