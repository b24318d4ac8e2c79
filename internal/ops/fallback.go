package ops

// A Fallback is what is counted of the server that answers for the profile of PostgREST.
type Fallback struct {
	Answered, Away, Busy, Failed, TimedOut uint64 // requests by what came of them
	UnderWay                               int
	Open                                   bool // it is left alone, for it was away
}

// fallback writes what is known of it; nil: there is none.
func (e *emitter) fallback(f *Fallback) {
	if f == nil {
		return
	}
	e.value(fallbackRequests, float64(f.Answered), "answered")
	e.value(fallbackRequests, float64(f.Away), "away")
	e.value(fallbackRequests, float64(f.Busy), "busy")
	e.value(fallbackRequests, float64(f.Failed), "failed")
	e.value(fallbackRequests, float64(f.TimedOut), "timeout")
	e.value(fallbackUnderWay, float64(f.UnderWay))
	left := 0.0
	if f.Open {
		left = 1
	}
	e.value(fallbackLeft, left)
}
