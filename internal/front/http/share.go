package httpfront

import (
	"net"
	"time"
)

// Hosts is a set of Host names that a listener answers, for fronts that answer
// in another way than a Handler.
type Hosts struct{ list hostList }

// NewHosts returns the set of hosts, localhost and the loopback addresses; "*"
// among hosts stands for all.
func NewHosts(hosts []string) Hosts { return Hosts{newHostList(hosts)} }

// Allow reports whether a Host that arrived at the address own is answered.
func (h Hosts) Allow(host string, own net.Addr) bool { return h.list.allowsName(host, own) }

// BucketOf returns the place of a duration among Buckets, len(Buckets) for one
// that is longer than all.
func BucketOf(d time.Duration) int { return bucketOf(d) }
