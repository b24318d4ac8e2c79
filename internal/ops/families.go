package ops

// A family is one metric. Names, types and labels are a promise to those who
// have dashboards (TestMetrics_NamesAreFrozen).
type family struct {
	name   string // without "hotrow_"
	kind   kind
	labels []string
	help   string
}

type kind uint8

const (
	counter kind = iota
	gauge
	histogram
	summary
)

// metricID is the index of a family.
type metricID int

const (
	buildInfo metricID = iota
	requestsTotal
	requestDuration
	resourceDuration
	cacheLookups
	cacheFills
	cacheCoarse
	cacheInvalidations
	cacheEntries
	cacheBytes
	cacheEvictions
	cacheCopies
	cacheCopyBytes
	cacheEvictionAge
	cacheHitRatio
	cacheLimboBytes
	cacheSourceBytes
	cacheSizeBytes
	cacheWasteBytes
	cacheability
	cacheLists
	listTemplates
	diskUp
	diskWaiting
	diskWaitingBytes
	diskCommits
	diskCommitSeconds
	diskCommitAge
	diskRefused
	diskBroken
	diskFileBytes
	feedUp
	feedLag
	feedGaps
	feedFailed
	feedProbes
	feedElsewhere
	feedLeftOut
	feedEvents
	feedState
	feedMode
	auditChecked
	auditStale
	warmKeys
	warmRounds
	unsettledOldest
	poolInUse
	poolIdle
	poolWaiting
	queryDuration
	watchers
	watchDropped
	panics
	accessLogLines
	accessLogDropped
	unsentBytes
	unsentWaiting
	unsentRefused
	httpWatches
	httpWatchEvents
	httpWatchesRefused
	jwtTokens
	jwtKeys
	jwtFetches
	jwtFetchFailing
	jwtKeysAge
	fallbackRequests
	fallbackUnderWay
	fallbackLeft
	traceSpans
	refusedConnections
	httpConnections
	http2Streams
	http2Refused
	http2Canceled
	http2Broken
	wireConnections
	wireFrames
	wireBytes
	wireBroken
	wireBatches
	wireSlow
	wireWatchers
	wireEvents
	memcacheConnections
	memcacheRejected
	memcacheBroken
	memcacheDenied
	memcacheCommands
	memcacheBatches
	memcacheUnknown
	sqlSessions
	sqlLogins
	sqlCancels
	sqlGroups
	sqlPasses
	sqlCopies
	sqlUnlike
	sqlWrong
	sqlSaved
	sqlClosed
	sqlOrphans
	sqlBytes
	sqlShapes
	sqlStatements
	sqlStatementSeconds
	respConnections
	respRejected
	respBroken
	respDenied
	respCommands
	respBatches
	respUnknown
	respTrackingClients
	respTrackingKeys
	respInvalidations
	respFlushes
	respSubscribers
	respLate
	linksRequests
	linksClicks
	linksPending
	linksLag
	linksLogBytes
	linksUp
	numMetrics
)

const listsHelp = "Requests for lists: hit, or why memory had no answer: absent, evicted, " +
	"moved (a change), dirty (one that is not settled), bypass (it was not to answer). " +
	"once, too_large and discarded (a change came): lists that were read and not kept; " +
	"unchanged: lists read again and found as they were."

const coarseHelp = "Documents stored that were read with too many rows to tell these apart."

const fillsHelp = "Loads after a miss. discarded: a change arrived during the load."

const listTemplatesHelp = "Sets of columns by whose values lists are told apart."

const feedStateHelp = "1 for the state that the feed is in, 0 for the others."

const feedModeHelp = "1 with the mode that is in use: logical, notify, binlog, sqlite or none."

// families returns every metric of ours.
func families() [numMetrics]family {
	source, resource := []string{"source"}, []string{"resource"}
	tier := []string{"tier"}
	all := [numMetrics]family{
		buildInfo: {"build_info", gauge, []string{"version", "commit", "go"},
			"Always 1; the labels are the version, the commit and the Go version."},
		requestsTotal: {"requests_total", counter, []string{"proto", "source", "code"},
			"Requests answered; the source is empty where the request names no resource."},
		requestDuration: {"request_duration_seconds", histogram, []string{"proto", "source"},
			"Time from reading the whole request to making the answer. A hit counts as long as " +
				"the wake-up of the event loop that answered it: the clock is read twice for a " +
				"wake-up, not for each request."},
		cacheLookups: {"cache_lookups_total", counter, []string{"resource", "tier", "result"},
			"Look-ups in a tier: hit, miss, stale or negative (the key is known to have no row)."},
		cacheFills:  {"cache_fills_total", counter, []string{"source", "result"}, fillsHelp},
		cacheCoarse: {"cache_coarse_total", counter, source, coarseHelp},
		cacheInvalidations: {"cache_invalidations_total", counter, []string{"source", "origin"},
			"Documents dropped, by origin: the feed, a write, the operator or a gap of the feed."},
		cacheEntries: {"cache_entries", gauge, tier, "Documents held, absences included."},
		cacheBytes: {"cache_bytes", gauge, tier,
			"Bytes that the documents take, keys and bookkeeping included."},
		cacheEvictions: {"cache_evictions_total", counter, tier, "Documents evicted by the bound."},
		cacheCopies: {"cache_copies_total", counter, []string{"result"},
			"Compressed copies of documents: made, refused (it does not pay), dropped (too many " +
				"waited) or late (the document had gone, or is too large)."},
		cacheCopyBytes: {"cache_copy_bytes", gauge, tier,
			"Bytes that compressed copies take, of those of the documents."},
		cacheability: {"cacheability", gauge, resource,
			"Share of the fills that may be stored, 0 to 1."},
		cacheLists:    {"cache_lists_total", counter, []string{"source", "result"}, listsHelp},
		listTemplates: {"cache_list_templates", gauge, source, listTemplatesHelp},
		feedUp:        {"feed_up", gauge, source, "1 while the feed follows its database."},
		feedLag:       {"feed_lag_seconds", gauge, source, "Time since the feed was complete."},
		feedGaps:      {"feed_gaps_total", counter, source, "Times that a change may be missing."},
		feedFailed:    {"feed_fence_failures_total", counter, source, "Fences that failed."},
		feedEvents:    {"feed_events_total", counter, source, "Changes of rows delivered."},
		feedState:     {"feed_state", gauge, []string{"source", "state"}, feedStateHelp},
		feedMode:      {"feed_mode", gauge, []string{"source", "mode"}, feedModeHelp},
		unsettledOldest: {"unsettled_oldest_seconds", gauge, source,
			"Age of the oldest change that reads may not see yet; 0 for none."},
		poolInUse:   {"db_pool_in_use", gauge, source, "Connections in use."},
		poolIdle:    {"db_pool_idle", gauge, source, "Connections open and not in use."},
		poolWaiting: {"db_pool_waiting", gauge, source, "Callers that wait for a connection."},
		queryDuration: {"db_query_duration_seconds", histogram, []string{"source", "op"},
			"Time of a query."},
		watchers: {"watchers", gauge, nil, "Clients that watch for changes."},
		watchDropped: {"watch_dropped_total", counter, nil,
			"Watchers cut off because they did not keep up."},
	}
	for _, more := range []map[metricID]family{diskFamilies(), httpFamilies(), wireFamilies(),
		respFamilies(), memcacheFamilies(), sqlFamilies(), linksFamilies(), careFamilies(),
		memoryFamilies()} {
		for id, f := range more {
			all[id] = f
		}
	}
	return all
}

// careFamilies are those of one table, of what shows changes to be visible, of the auditor, of
// warming, of reading again, of clients that do not read and of the access log.
func careFamilies() map[metricID]family {
	source, resource := []string{"source"}, []string{"resource"}
	return map[metricID]family{
		accessLogLines: {"access_log_lines_total", counter, nil, "Lines of the access log."},
		accessLogDropped: {"access_log_dropped_total", counter, nil,
			"Access log lines dropped because the file was too slow or failed."},
		resourceDuration: {"resource_request_duration_seconds", summary, resource,
			"Time of the requests for one resource, over all protocols."},
		panics: {"panics_total", counter, nil,
			"Defects of hotrow that ended what they happened in; the log shows each."},
		feedProbes: {"feed_probes_total", counter, source,
			"Statements that asked which transactions are visible."},
		feedElsewhere: {"feed_reads_elsewhere_total", counter, source,
			"Reads of the primary, because the standby that is followed was late or away."},
		feedLeftOut: {"feed_left_out_tables", gauge, source,
			"Tables whose changes the feed cannot tell: only a ttl keeps their rows."},
		auditChecked: {"audit_checked_total", counter, source,
			"Documents that were read again and compared with what is kept."},
		auditStale: {"audit_stale_total", counter, source,
			"Audited documents that were wrong and would have stayed so: a defect."},
		warmKeys: {"warm_keys", gauge, resource,
			"Keys that warming has looked at in its present or last round."},
		warmRounds: {"warm_rounds_total", counter, resource,
			"Rounds of warming that are done: one at the start and one after each gap."},
		traceSpans: {"trace_spans_total", counter, []string{"result"},
			"Spans of traces: sent, dropped (too many waited) or failed (not taken)."},
		unsentBytes: {"unsent_bytes", gauge, nil,
			"Bytes of unread answers, and of bodies that have come in part."},
		unsentWaiting: {"unsent_waiting", gauge, nil,
			"Requests that wait because too many answers are unread."},
		unsentRefused: {"unsent_refused_total", counter, nil,
			"Requests refused because they waited too long for unread answers."},
		httpWatches: {"http_watches", gauge, nil,
			"Documents and lists that are followed over HTTP."},
		httpWatchEvents: {"http_watch_events_total", counter, nil,
			"Events sent to clients that follow something over HTTP."},
		httpWatchesRefused: {"http_watches_refused_total", counter, nil,
			"Watches over HTTP that were one too many."},
		jwtTokens: {"jwt_tokens_total", counter, []string{"result"},
			"JWTs that were verified, by what they were worth; not those that were remembered."},
		jwtKeys: {"jwt_keys", gauge, nil, "Keys that verify JWTs."},
		jwtFetches: {"jwt_key_fetches_total", counter, []string{"result"},
			"Requests for the set of keys (auth.jwt.jwks): ok or failed."},
		jwtFetchFailing: {"jwt_key_fetches_failing", gauge, nil,
			"Requests for the set of keys that failed since one did not."},
		jwtKeysAge: {"jwt_keys_age_seconds", gauge, nil,
			"Time since the set of keys was fetched; after a day it is worth nothing."},
		fallbackRequests: {"http_fallback_requests_total", counter, []string{"result"},
			"Requests that were relayed to http.postgrest.fallback, by what came of them."},
		fallbackUnderWay: {"http_fallback_requests", gauge, nil,
			"Requests to http.postgrest.fallback that are under way."},
		fallbackLeft: {"http_fallback_left_alone", gauge, nil,
			"1 while http.postgrest.fallback is not asked, for it has failed several times."},
	}
}

// httpFamilies are those of listeners, and of the connections of HTTP.
func httpFamilies() map[metricID]family {
	listener := []string{"listener"}
	return map[metricID]family{
		refusedConnections: {"connections_refused_total", counter, []string{"listener", "why"},
			"Connections refused: connections (the listener had too many), address (one address " +
				"had), handshakes (of TLS, that waited too long for others)."},
		httpConnections: {"http_connections", gauge, []string{"listener", "version"},
			"Connections of HTTP, by its major version."},
		http2Streams: {"http2_streams_total", counter, listener, "Requests over HTTP/2."},
		http2Refused: {"http2_refused_total", counter, listener,
			"Requests over HTTP/2 refused because a connection had too many at once."},
		http2Canceled: {"http2_canceled_total", counter, listener,
			"Requests over HTTP/2 that their clients have reset before the answer was sent."},
		http2Broken: {"http2_broken_total", counter, listener,
			"Connections of HTTP/2 ended because of what their peer sent."},
	}
}

// wireFamilies are those of the wire protocol.
func wireFamilies() map[metricID]family {
	direction := []string{"direction"}
	return map[metricID]family{
		wireConnections: {"wire_connections", gauge, nil, "Connections of the wire protocol."},
		wireFrames:      {"wire_frames_total", counter, direction, "Frames: in or out."},
		wireBytes:       {"wire_bytes_total", counter, direction, "Bytes of frames: in or out."},
		wireBroken: {"wire_broken_total", counter, nil,
			"Connections closed because the peer broke the protocol or sent nothing in time."},
		wireBatches: {"wire_batches_total", counter, nil,
			"Reads of the database for several requests at once."},
		wireWatchers: {"wire_watchers", gauge, nil, "Watches that are open."},
		wireEvents: {"wire_events_total", counter, nil,
			"Events sent to watchers, one for each watcher."},
		wireSlow: {"wire_slow_watchers_total", counter, nil,
			"Watchers cut off because they did not keep up."},
	}
}

// memcacheFamilies are those of the protocol of memcached.
func memcacheFamilies() map[metricID]family {
	return map[metricID]family{
		memcacheConnections: {"memcache_connections", gauge, nil,
			"Connections of memcached clients."},
		memcacheRejected: {"memcache_rejected_total", counter, nil,
			"Connections refused because there were kv.max_clients."},
		memcacheBroken: {"memcache_broken_total", counter, nil,
			"Connections ended because of what their peer sent."},
		memcacheDenied: {"memcache_denied_total", counter, nil, "Tokens that were no good."},
		memcacheCommands: {"memcache_commands_total", counter, nil,
			"Commands of memcached clients."},
		memcacheBatches: {"memcache_batches_total", counter, nil,
			"Reads of the database, each for all that a burst has missed of a resource."},
		memcacheUnknown: {"memcache_unknown_keys_total", counter, []string{"why"},
			"Keys answered with a miss because they name no resource, or no row can have them."},
	}
}

// sqlFamilies are those of sessions of PostgreSQL that are passed on.
func sqlFamilies() map[metricID]family {
	return map[metricID]family{
		sqlSessions: {"sql_sessions", gauge, nil,
			"Sessions of SQL clients, each with a connection to the database."},
		sqlLogins: {"sql_logins_total", counter, []string{"result"},
			"Connections of SQL clients by what became of them."},
		sqlCancels: {"sql_cancels_total", counter, []string{"result"},
			"Requests to cancel a statement by what became of them."},
		sqlGroups: {"sql_groups_total", counter, []string{"result"},
			"Answers that were passed on, by what memory would have done: hit, miss, pass."},
		sqlPasses: {"sql_pass_total", counter, []string{"reason"},
			"Statements for which memory was not looked into, by why."},
		sqlCopies: {"sql_copies", gauge, nil, "Answers that are known, as digests."},
		sqlUnlike: {"sql_unlike_total", counter, []string{"why"},
			"Hits that differed from the database's answer, or could not be compared with it."},
		sqlWrong: {"sql_wrong_total", counter, nil,
			"Hits with which memory would have answered wrongly: report them."},
		sqlSaved: {"sql_saved_seconds_total", counter, nil,
			"Time in the database of what memory would have answered."},
		sqlClosed: {"sql_closed_seconds_total", counter, nil,
			"Time for which writes of clients have kept memory from answering, of all writes."},
		sqlOrphans: {"sql_orphans", gauge, nil,
			"Writes whose session was lost, and which may go on at the database."},
		sqlBytes: {"sql_bytes_total", counter, []string{"direction"},
			"Bytes of sessions after the log-in, from clients (in) and to them (out)."},
		sqlShapes: {"sql_shapes", gauge, nil,
			"Shapes of statements that are told apart: /-/sql lists them."},
		sqlStatements: {"sql_statements_total", counter, []string{"reason"},
			"Statements by why memory could not answer them; eligible: it could."},
		sqlStatementSeconds: {"sql_statement_seconds_total", counter, []string{"reason"},
			"Time of statements in the database, by the same."},
	}
}

// respFamilies are those of the protocol of Redis.
func respFamilies() map[metricID]family {
	return map[metricID]family{
		respConnections: {"resp_connections", gauge, nil, "Connections of Redis clients."},
		respRejected: {"resp_rejected_total", counter, nil,
			"Connections refused because there were kv.max_clients."},
		respBroken: {"resp_broken_total", counter, nil,
			"Connections ended because of what their peer sent."},
		respDenied:   {"resp_denied_total", counter, nil, "Passwords that were no good."},
		respCommands: {"resp_commands_total", counter, nil, "Commands of Redis clients."},
		respBatches: {"resp_batches_total", counter, nil,
			"Reads of the database, each for all that a pipeline has missed of a resource."},
		respTrackingClients: {"resp_tracking_clients", gauge, nil,
			"Connections whose clients keep copies of rows."},
		respTrackingKeys: {"resp_tracking_keys", gauge, nil, "Keys that are tracked for them."},
		respInvalidations: {"resp_invalidations_total", counter, nil,
			"Keys that those clients were told of, each as often as it was."},
		respFlushes: {"resp_flushes_total", counter, nil,
			"Times that those clients were told that anything may have changed."},
		respSubscribers: {"resp_subscribers", gauge, nil,
			"Connections that hear the channels of keys."},
		respLate: {"resp_late_subscribers_total", counter, nil,
			"Connections closed because they did not take in time what they heard."},
		respUnknown: {"resp_unknown_keys_total", counter, []string{"why"},
			"Keys answered with nil because they name no resource, or no row can have them."},
	}
}

// diskFamilies are those of the cache on disk, which not everybody has.
func diskFamilies() map[metricID]family {
	return map[metricID]family{
		diskUp: {"disk_up", gauge, nil,
			"1 while the cache on disk is in use, 0 when it has failed."},
		diskWaiting: {"disk_waiting", gauge, nil,
			"Documents put and dropped that are not on disk yet."},
		diskWaitingBytes: {"disk_waiting_bytes", gauge, nil,
			"Memory that documents take which are not on disk yet."},
		diskCommits: {"disk_commits_total", counter, nil, "Batches written to disk and synced."},
		diskCommitSeconds: {"disk_commit_seconds_total", counter, nil,
			"Time that writing and syncing batches has taken."},
		diskCommitAge: {"disk_commit_age_seconds", gauge, nil,
			"Time since all that waited began to be written: how far the position on disk lags."},
		diskRefused: {"disk_refused_total", counter, nil,
			"Documents not put because too many waited or the disk was full."},
		diskBroken: {"disk_broken_total", counter, []string{"what"},
			"Records and files whose bytes were not what was written."},
		diskFileBytes: {"disk_file_bytes", gauge, []string{"state"},
			"Bytes of the file's pages: used or free."},
	}
}

// memoryFamilies are the metrics of memory alone.
func memoryFamilies() map[metricID]family {
	return map[metricID]family{
		cacheEvictionAge: {"cache_eviction_age_seconds", gauge, nil,
			"How long what is evicted from memory was there, lately; 0: nothing was evicted."},
		cacheHitRatio: {"cache_hit_ratio", gauge, []string{"memory"},
			"Part of the requests that memory answers lately (now), and would answer with half " +
				"and with twice the memory: an estimate."},
		cacheLimboBytes: {"cache_limbo_bytes", gauge, nil,
			"Bytes of memory that were freed and wait for readers."},
		cacheSourceBytes: {"cache_source_bytes", gauge, []string{"source"},
			"Bytes of memory that copies of rows and lists take, compressed ones left out."},
		cacheSizeBytes: {"cache_size_bytes", gauge, []string{"up_to", "state"},
			"Bytes of memory by the size of copies, used or free for others of the size."},
		cacheWasteBytes: {"cache_waste_bytes", gauge, nil,
			"Bytes of memory that rounding and free slots take."},
	}
}
