/* What documents.pml is made of: the state of package fresh, and what its functions do under one
 * lock. Where the caller has given a value to v, by, position or token, it stands there.
 */
/* Where epochs and generations stay what they are, reading them is no step of its own. */
#if WHOLE | LOST | BEGINS | KILL | RECONNECT
#define CUT } d_step {
#else
#define CUT ;
#endif

/* The database. A document's value is the set of transactions that it shows. */
byte logged, visible;
byte nlogged;

/* fresh.Domain. */
byte epoch = 1, applied, seen;
byte fenced;             /* the last fence that was reached: 1 for the first that was begun */
byte pending, begins;    /* transactions that are not settled; those that stand for a beginning */
byte pendingTwice;       /* those that the feed has told twice */
bool mu;

/* fresh.Space and its shards: one lock for each document. */
byte generation;
byte wholes;
byte dirty[DOCS];
bool locked[DOCS];
#define FLIGHTS (DOCS * FORMATS)
byte newest[FLIGHTS] = NONE;
byte answeredAt[FLIGHTS];

#define ANY 0
#define SETTLED 1
#define SOURCE 2

#define LEASES (READERS + TXS)
typedef Lease {
	byte older;
	bool storable, settled, invalidated, now, sent;
	bool hasAfter;
	byte after;        /* what others were answered since it was sent */
	bool answered;     /* others were, before it is sent */
	byte epoch, generation, asOf, fenced;
	byte at;           /* of a write-through: its position */
	byte value, shows, read
};
Lease lease[LEASES];

typedef Copy {
	bool kept;
	byte value, epoch, generation, read
};
Copy memory[FLIGHTS];

/* What the check remembers. */
byte held, released, keptBack, settled, orphans, delivered;
byte begun, ended;        /* readers */
byte answered[DOCS];      /* all that was ever answered */
byte waitsFor[READERS] = NONE;
byte floor[READERS], told[READERS], mustFence[READERS], claim[READERS], fencedThen[READERS];
byte clock;               /* fences begun */
byte behind, reached, born;
byte fenceEnd;
bool killed, reconnected;
bool run0, run1;          /* the feed, and the settler, are to begin again */

#if DISK
typedef DiskCopy {
	bool kept, life;
	byte value, diskEpoch, flushes, epoch, generation, read
};
DiskCopy disk[FLIGHTS], file[FLIGHTS];
byte mark, fileMark, diskEpoch, fileDiskEpoch, flushes, fileFlushes;
bool life, trusted;
#endif

#define docOf(i) (has(DOC1, i))
#define formatOf(i) (has(FORMAT1, i))
#define flight(d, f) ((d) * FORMATS + (f))
#define flightOf(i) flight(docOf(i), formatOf(i))
#define leaseDoc(l) ((l) < READERS -> docOf(l) : 0)
#define formatOfLease(l) ((l) < READERS -> formatOf(l) : 0)
#define leaseFlight(l) ((l) < READERS -> flightOf(l) : 0)
#define needOf(i) (has(NOW, i) -> SOURCE : (has(TOKEN, i) -> SETTLED : ANY))

#define valid(e, g) ((e == epoch || is(valid_any_epoch)) && (g == generation || is(valid_any_generation)))
#define leaseValid(l) valid(lease[l].epoch, lease[l].generation)
#define copyValid(fl) (memory[fl].kept && valid(memory[fl].epoch, memory[fl].generation))

/* The lowest position that a load is complete up to, if it may miss what is pending. */
#define lowest(set) (has(set, 0) -> 0 : (has(set, 1) -> 1 : (has(set, 2) -> 2 : 3)))
#define least ((pending & begins) -> 0 : lowest(pending))
#define settledTo(position) (pending == 0 || is(claims_what_is_pending) -> position : \
	min(position, least + is(claims_one_too_many)))

byte k, x, y;                 /* of d_steps alone; 0 between them */
byte v, position, token;      /* of an answer; the same */
byte by;                      /* the position of what invalidates, 0: none; the same */

/* No copy that a hit could answer with is older than an answer. */
inline watch(doc) {
	for (k : 0 .. FORMATS - 1) {
		assert(!copyValid(flight(doc, k)) || includes(memory[flight(doc, k)].value, answered[doc]))
	}
	k = 0
}

/* Macros where what they are given is a part of a structure: inline cannot have that. */
#define forget(c) c.kept = false; c.value = 0; c.epoch = 0; c.generation = 0; c.read = 0

#define copyOf(a, b) a.kept = b.kept; a.value = b.value; a.epoch = b.epoch; \
	a.generation = b.generation; a.read = b.read
#define copyDisk(a, b) copyOf(a, b); a.life = b.life; a.diskEpoch = b.diskEpoch; a.flushes = b.flushes
#define forgetDisk(c) forget(c); c.life = 0; c.diskEpoch = 0; c.flushes = 0

inline drop(doc) {
	for (k : 0 .. FORMATS - 1) {
		forget(memory[flight(doc, k)]);
#if DISK
		forgetDisk(disk[flight(doc, k)]);
#endif
	}
	k = 0
}

/* Every load of d in flight: but the write-through of the transaction at position by. */
inline invalidate(doc) {
	for (k : 0 .. (is(invalidates_one_format) -> 0 : FORMATS - 1)) {
		x = newest[flight(doc, k)];
		do
		:: x == NONE -> break
		:: else ->
			lease[x].invalidated = lease[x].invalidated || by == 0 || lease[x].at != by;
			if
			:: is(invalidates_the_last_only) -> x = NONE
			:: else -> x = lease[x].older
			fi
		od
	}
	k = 0; x = 0
}

inline supersede(d) {
	for (k : 0 .. (is(supersedes_one_format) -> 0 : FORMATS - 1)) {
		x = newest[flight(d, k)];
		do
		:: x == NONE -> break
		:: x != NONE && lease[x].sent ->
			lease[x].invalidated = lease[x].invalidated || lease[x].hasAfter && lease[x].after != v;
			lease[x].hasAfter = true; lease[x].after = v;
			x = lease[x].older
		:: else ->
			lease[x].answered = true;
			x = lease[x].older
		od
	}
	k = 0; x = 0
}

/* Takes l out of flight. */
inline land(l) {
	if
	:: newest[leaseFlight(l)] == l -> newest[leaseFlight(l)] = lease[l].older
	:: else ->
		x = newest[leaseFlight(l)];
		do
		:: x == NONE -> break
		:: x != NONE && lease[x].older == l -> lease[x].older = lease[l].older; break
		:: else -> x = lease[x].older
		od
	fi;
	x = 0
}

/* What is known of a lease is forgotten when all have their answer. */
inline clearLease(l) {
	lease[l].older = 0; lease[l].storable = 0; lease[l].settled = 0; lease[l].invalidated = 0;
	lease[l].now = 0; lease[l].sent = 0; lease[l].hasAfter = 0; lease[l].after = 0;
	lease[l].answered = 0; lease[l].epoch = 0; lease[l].generation = 0;
	lease[l].asOf = 0; lease[l].fenced = 0; lease[l].at = 0; lease[l].value = 0;
	lease[l].shows = 0; lease[l].read = 0
}

#if DISK
#define agreeOnDisk(l) if \
	:: k == formatOfLease(l) -> forgetDisk(disk[x]) \
	:: else \
	fi
#else
#define agreeOnDisk(l) skip
#endif

/* Copies of another state than an answer go. */
inline agree(l, takesItsPlace) {
	for (k : 0 .. FORMATS - 1) {
		if
		:: takesItsPlace && k == formatOfLease(l)
		:: k != formatOfLease(l) && is(copies_of_other_formats_stay)
		:: is(copies_of_other_states_stay)
		:: else ->
			x = flight(leaseDoc(l), k);
			if
			:: memory[x].kept && memory[x].value == v
			:: else -> forget(memory[x]); agreeOnDisk(l)
			fi;
			x = 0
		fi
	}
	k = 0
}

inline noteAnswer(l) {
#if DISK
	answeredAt[leaseFlight(l)] = max(answeredAt[leaseFlight(l)], lease[l].read + 1)
#endif
	skip
}

/* A reader has its answer: v, complete up to position, with a token. */
inline judge(who) {
	assert(includes(v, floor[who]));                  /* what was known to be visible */
	assert(includes(v, told[who]));                   /* what others were answered before */
	assert(includes(v, mustFence[who]));              /* what a fence has promised */
	assert(includes(v, upTo(position)));              /* what its position says */
	assert(includes(upTo(token), v));                 /* what its token says */
	answered[docOf(who)] = answered[docOf(who)] | v;
	ended = ended | bitOf(who);
	waitsFor[who] = NONE; floor[who] = 0; told[who] = 0; mustFence[who] = 0; claim[who] = 0;
	fencedThen[who] = 0
}

/* What a valid copy shows nothing behind. */
#define shown(read, fencedBefore, position) ( \
	read < fencedBefore || is(any_fence_will_do) && fencedBefore > 0 || is(shows_what_is_applied) -> \
	position : max(position, seen))

/* All who wait for l have their answer. */
inline answerAll(l) {
	position = lease[l].asOf;
	token = (lease[l].shows > 0 && !is(shows_what_is_applied) -> max(lease[l].asOf, lease[l].shows) :
		shown(lease[l].read, fenced, applied));
	for (k : 0 .. READERS - 1) {
		if
		:: waitsFor[k] == l -> judge(k)
		:: else
		fi
	}
	k = 0; position = 0; token = 0
}

inline store(l) {
	memory[leaseFlight(l)].kept = true;
	memory[leaseFlight(l)].value = v;
	memory[leaseFlight(l)].epoch = lease[l].epoch;
	memory[leaseFlight(l)].generation = lease[l].generation;
	memory[leaseFlight(l)].read = lease[l].read
}

#define sameVersion(l) (!lease[l].hasAfter || lease[l].after == lease[l].value || \
	is(stores_another_state) || is(stores_other_formats) && FORMATS > 1)
#define joinable(l) (lease[l].at == 0 && (!lease[l].invalidated || is(joins_an_invalidated_load)) && \
	(!lease[l].hasAfter || is(joins_a_superseded_load)) && (leaseValid(l) || is(joins_an_old_stamp)))
#define recent(l) (lease[l].settled || lease[l].fenced == fenced || is(joins_after_a_fence))
#define joins(l, need) (l != NONE && joinable(l) && ( \
	need == ANY && recent(l) || \
	need == SETTLED && (lease[l].settled || is(a_token_joins_what_is_unsettled)) || \
	need == SOURCE && (!lease[l].sent || is(joins_what_was_sent))))

/* What reader i must see at least. */
#define known(t) (has(settled, t) || has(released, t) && !has(orphans, t) || NOTIFY && t < delivered)
inline ask(who) {
	begun = begun | bitOf(who);
	for (k : 0 .. TXS - 1) {
		if
		:: known(k) || has(TOKEN, who) && k == 0 || needOf(who) == SOURCE && has(visible, k) ->
			floor[who] = floor[who] | bitOf(k)
		:: else
		fi
	}
	k = 0;
	told[who] = answered[docOf(who)];
	mustFence[who] = reached | born;
	fencedThen[who] = fenced; claim[who] = applied /* in this order, and before it looks */
}

#define takeStorable(i, d) \
	lease[i].storable = ((dirty[d] == 0 || is(dirty_is_storable)) && \
		(wholes == 0 || is(storable_while_all_is_unsettled))); \
	lease[i].settled = lease[i].storable

#define othersEnded(i) ((ended | bitOf(i)) == upTo(READERS))
#define mayBegin(i) ((!has(AFTER, i) || (KILL -> killed : othersEnded(i))) && \
	(!has(TOKEN, i) || has(visible, 0) && delivered >= 1) && (!has(BEHIND, i) || has(ended << 1, i)))


