package gofast

// Stats are counters under the names that gofast gives them. Heartbeats count
// as posts, too; whoami and ping as requests and responses.
type Stats struct {
	Tx       uint64 `json:"n_tx"` // frames
	Flushes  uint64 `json:"n_flushes"`
	TxByte   uint64 `json:"n_txbyte"`
	TxPost   uint64 `json:"n_txpost"`
	TxReq    uint64 `json:"n_txreq"`
	TxResp   uint64 `json:"n_txresp"`
	TxStart  uint64 `json:"n_txstart"`
	TxStream uint64 `json:"n_txstream"`
	TxFin    uint64 `json:"n_txfin"`
	Rx       uint64 `json:"n_rx"`
	RxByte   uint64 `json:"n_rxbyte"`
	RxPost   uint64 `json:"n_rxpost"`
	RxReq    uint64 `json:"n_rxreq"`
	RxResp   uint64 `json:"n_rxresp"`
	RxStart  uint64 `json:"n_rxstart"`
	RxStream uint64 `json:"n_rxstream"`
	RxFin    uint64 `json:"n_rxfin"`
	RxBeats  uint64 `json:"n_rxbeats"`
	Dropped  uint64 `json:"n_dropped"` // bytes
	MDrops   uint64 `json:"n_mdrops"`  // messages that had no place
}

// count counts a frame that was sent. Requests and responses are counted by
// those who know which of the two it is.
func (s *Stats) count(kind Kind) {
	switch kind {
	case KindPost:
		s.TxPost++
	case KindMessage:
		s.TxStream++
	case KindStart:
		s.TxStart++
	}
}

// all returns the counters in the order of Names.
func (s *Stats) all() [20]*uint64 {
	return [...]*uint64{&s.Tx, &s.Flushes, &s.TxByte, &s.TxPost, &s.TxReq, &s.TxResp,
		&s.TxStart, &s.TxStream, &s.TxFin, &s.Rx, &s.RxByte, &s.RxPost, &s.RxReq, &s.RxResp,
		&s.RxStart, &s.RxStream, &s.RxFin, &s.RxBeats, &s.Dropped, &s.MDrops}
}

// StatNames returns gofast's names of the counters.
func StatNames() [20]string {
	return [...]string{"n_tx", "n_flushes", "n_txbyte", "n_txpost", "n_txreq", "n_txresp",
		"n_txstart", "n_txstream", "n_txfin", "n_rx", "n_rxbyte", "n_rxpost", "n_rxreq",
		"n_rxresp", "n_rxstart", "n_rxstream", "n_rxfin", "n_rxbeats", "n_dropped", "n_mdrops"}
}

// Add adds o to s.
func (s *Stats) Add(o *Stats) {
	theirs := o.all()
	for i, p := range s.all() {
		*p += *theirs[i]
	}
}

// Map returns the counters by name.
func (s *Stats) Map() map[string]uint64 {
	names, m := StatNames(), make(map[string]uint64, 20)
	for i, p := range s.all() {
		m[names[i]] = *p
	}
	return m
}
