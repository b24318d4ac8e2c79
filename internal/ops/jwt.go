package ops

import (
	"maps"
	"slices"
	"time"
)

// A JWT is what the verifier of JWTs counts.
type JWT struct {
	Good    uint64            // tokens that were verified and good
	Refused map[string]uint64 // and those that were not, by the reason
	Keys    int

	Fetches, Failed uint64 // of the set of keys; 0: it has no URL
	Failing         int64  // since one did not fail
	Age             time.Duration
}

// jwt writes what is known of JWTs; nil: there are none.
func (e *emitter) jwt(j *JWT) {
	if j == nil {
		return
	}
	e.value(jwtTokens, float64(j.Good), "ok")
	for _, why := range slices.Sorted(maps.Keys(j.Refused)) {
		e.value(jwtTokens, float64(j.Refused[why]), why)
	}
	e.value(jwtKeys, float64(j.Keys))
	if j.Fetches == 0 {
		return
	}
	e.value(jwtFetches, float64(j.Fetches-min(j.Failed, j.Fetches)), "ok")
	e.value(jwtFetches, float64(j.Failed), "failed")
	e.value(jwtFetchFailing, float64(j.Failing))
	e.value(jwtKeysAge, j.Age.Seconds())
}
