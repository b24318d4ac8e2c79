package ops

import "time"

// Links are what becomes of clicks on short links.
type Links struct {
	Results map[string]uint64 // of requests: redirect, gone, missing, limited, method, failed
	Clicks  map[string]uint64 // recorded, dropped, refused, stored, bad, poison, conflict

	Pending  int64         // clicks in the log that the database does not have
	Lag      time.Duration // since it was known to have everything, or took some
	LogBytes int64         // of the click log
	Away     bool          // the database does not take clicks
}

// linksFamilies are those of the shortener.
func linksFamilies() map[metricID]family {
	return map[metricID]family{
		linksRequests: {"links_requests_total", counter, []string{"result"},
			"Short links followed: redirect, gone, missing, limited, method or failed."},
		linksClicks: {"links_clicks_total", counter, []string{"result"},
			"Clicks: recorded in the log, dropped or refused because it was full, stored in the " +
				"database; bad, poison and conflict could not be."},
		linksPending: {"links_clicks_pending", gauge, nil,
			"Clicks in the log that the database does not have yet."},
		linksLag: {"links_clicks_lag_seconds", gauge, nil,
			"Time since the database was known to have all clicks, or took some."},
		linksLogBytes: {"links_log_bytes", gauge, nil, "Bytes of the click log's segments."},
		linksUp:       {"links_database_up", gauge, nil, "1 while the database takes clicks."},
	}
}

// links writes the metrics of the shortener.
func (e *emitter) links(l *Links) {
	for result, n := range l.Results {
		e.value(linksRequests, float64(n), result)
	}
	for result, n := range l.Clicks {
		e.value(linksClicks, float64(n), result)
	}
	up := 1.0
	if l.Away {
		up = 0
	}
	e.value(linksPending, float64(l.Pending))
	e.value(linksLag, l.Lag.Seconds())
	e.value(linksLogBytes, float64(l.LogBytes))
	e.value(linksUp, up)
}
