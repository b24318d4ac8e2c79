/* Lists: version counters, and copies that are good while none of theirs has moved.
 * README.md explains it. What is broken on purpose (BROKEN) stands in mutants.h, what is tried in
 * scenarios. Names of turns are those of the Go model, internal/fresh/model_versions_turns_test.go;
 * its turn "go" is each further step of a call here.
 */
#include "mutants.h"

#ifndef BROKEN
#define BROKEN 0
#endif
#define is(rule) (BROKEN == rule)

/* A scenario: so many transactions and readers, and sets of them by bits. */
#ifndef TXS
#define TXS 1
#endif
#ifndef READERS
#define READERS 2
#endif
#ifndef TAGGED
#define TAGGED 1    /* transactions that move the tag of the list */
#endif
#ifndef WHOLE
#define WHOLE 0     /* of which nobody knows the rows */
#endif
#ifndef CHANGES
#define CHANGES (TAGGED | WHOLE) /* that change the list */
#endif
#ifndef LOST
#define LOST 0      /* the feed begins anew behind their log record */
#endif
#ifndef OWN
#define OWN 0       /* written through hotrow */
#endif
#ifndef FAILS
#define FAILS 0     /* and rolled back */
#endif
#ifndef NOTIFY
#define NOTIFY 0    /* the feed tells only what is visible */
#endif
#ifndef ANY_ROW
#define ANY_ROW 0   /* the list depends on all rows of its table */
#endif
#ifndef NOW
#define NOW 0       /* readers who ask for the source itself */
#endif
#ifndef TOKEN
#define TOKEN 0     /* readers with the position of transaction 0 */
#endif
#ifndef LAST
#define LAST 0      /* readers who begin when all others have ended */
#endif
#ifndef EVICTS
#define EVICTS 0    /* the copy is forgotten once */
#endif
#ifndef REGISTERS
#define REGISTERS 0 /* the tag is registered while others go on */
#endif
#ifndef REMOVES
#define REMOVES 0   /* or removed */
#endif

#define has(set, i) (((set) >> (i)) & 1)
#define bitOf(i) (1 << (i))
#define includes(a, b) (((b) & ~(a)) == 0)
#define upTo(position) (bitOf(position) - 1)
#define min(a, b) ((a) < (b) -> (a) : (b))
#define max(a, b) ((a) > (b) -> (a) : (b))
#define NONE 255

/* A step ends where others may see or change what the next one looks at. */
#define CUT } d_step {
#if LOST
#define CUT_ALL CUT
#else
#define CUT_ALL ;
#endif
#if WHOLE | REMOVES
#define CUT_WHOLE CUT
#else
#define CUT_WHOLE ;
#endif

/* Version counters: a stamp, times 8, and how many changes keep it. The list depends on all, on
 * its table's whole, and on its tag (or on any row of the table). */
#define TAG 0
#define WHOLE_TABLE 1
#define TABLE 2
#define EVERYTHING 3
byte version[4];
byte clock;
bool versions;    /* the lock of the counters */
bool mu;          /* the lock of what is pending */
bool apply;       /* of who makes sets of counters, and who registers */
#if REGISTERS
byte since = NONE;
bool registered;
#else
byte since;       /* the first clock of loads for which the tag counts */
bool registered = true;
#endif
bool removed;
byte oldMarks;    /* changes and writes that keep counters and have not known the tag */
byte oldSet;      /* changes of which the feed has told before */

#define stampOf(x) (version[x] >> 3)
#define keptOf(x) (version[x] & 7)
#define moved(x, c0) (stampOf(x) > (c0) && !is(moved_is_no_miss))
#define bad(x, c0) (moved(x, c0) || keptOf(x) > 0 && !is(dirty_is_no_miss))

/* The database, and the domain. */
byte logged, visible, failed;
byte epoch = 1, applied, delivered, pending, begins, wholes;
byte setOf[TXS];

/* The list. A copy is told from others by its number. */
bool kept;
byte copy, copies, value, c0, copyEpoch, seen;
bool named;       /* it depends on the tag, and not on any row */

/* The shard, and the leases: each reader has one. */
bool locked;
byte newest = NONE;
typedef Lease {
	byte older;
	bool storable, settled, invalidated, now, sent, hasAfter, named;
	byte after, epoch, asOf, c0, value
};
Lease lease[READERS];

/* What the check remembers. */
byte ended, answered, settled, released, held;
byte waitsFor[READERS] = NONE;
byte floor[READERS], told[READERS];
byte k, x, v, position; /* of d_steps alone */

#define least (pending & begins -> 0 : (has(pending, 0) -> 0 : 1))
#define settledTo(p) (pending == 0 || is(a_token_is_told_of_what_is_pending) -> p : min(p, least))
#define needsNow(i) has(NOW, i)
#define shows(set) ((set) & CHANGES)

/* The counters that a change moves, as it is known when the set is made. */
#define setFor(t) (has(LOST, t) -> bitOf(EVERYTHING) : bitOf(TABLE) | \
	(has(WHOLE, t) && !is(bulk_moves_only_the_table) -> bitOf(WHOLE_TABLE) : 0) | \
	(has(TAGGED, t) && registered && !is(tags_are_not_moved) -> bitOf(TAG) : 0))

#define stamp(x, kk, delta) version[x] = ((is(settling_does_not_stamp) && (delta) == -1 -> \
	version[x] >> 3 : kk) << 3) | ((keptOf(x) + (delta)) & 7)
#define stampIf(x, set, kk, delta) \
	if \
	:: has(set, x) -> stamp(x, kk, delta) \
	:: else \
	fi

/* Moves the counters of a set: tags, wholes, tables, all, and then the clock. kk is the caller's. */
#if BROKEN == the_tables_version_comes_first
#define move(set, delta) stampIf(TABLE, set, kk, delta); CUT stampIf(TAG, set, kk, delta); \
	CUT_WHOLE stampIf(WHOLE_TABLE, set, kk, delta); CUT_ALL stampIf(EVERYTHING, set, kk, delta); CUT
#elif BROKEN == the_clock_moves_before
#define move(set, delta) clock = kk; CUT stampIf(TAG, set, kk, delta); \
	CUT_WHOLE stampIf(WHOLE_TABLE, set, kk, delta); CUT stampIf(TABLE, set, kk, delta); \
	CUT_ALL stampIf(EVERYTHING, set, kk, delta); CUT
#else
#define move(set, delta) stampIf(TAG, set, kk, delta); CUT_WHOLE \
	stampIf(WHOLE_TABLE, set, kk, delta); CUT stampIf(TABLE, set, kk, delta); \
	CUT_ALL stampIf(EVERYTHING, set, kk, delta); CUT
#endif
#define touch(set, delta, isOld, leaves) \
	d_step { !versions -> versions = true; kk = clock + 1; oldMarks = oldMarks + (isOld); \
		move(set, delta) \
		clock = kk; kk = 0; \
		oldMarks = oldMarks - (leaves); \
		retire(); \
		versions = false }

/* The tag counts for loads whose clock is after the end of all who did not know it. */
inline retire() {
	if
	:: registered && since == NONE && !removed && (oldMarks == 0 || is(pending_is_not_waited_for)) ->
		clock = clock + 1;
		since = clock
	:: else
	fi
}

#define counts(c) ((c) >= since || is(used_at_once) && registered)

/* Whether a counter has moved, or is kept, is looked at one by one. */
#define isBad(n, c) ((n) && bad(TAG, c) || !(n) && bad(TABLE, c))

inline judge(who) {
	assert(includes(v, floor[who]));     /* what was known to be visible */
	assert(includes(v, told[who]));      /* what others were answered before */
	assert(includes(v, shows(upTo(position) & ~failed))); /* what its position says */
	answered = answered | v;
	ended = ended | bitOf(who);
	waitsFor[who] = NONE; floor[who] = 0; told[who] = 0;
	/* No copy, good or not, is older than an answer. */
	assert(!kept || includes(value, answered))
}

inline forget() { kept = false; value = 0; c0 = 0; copyEpoch = 0; seen = 0; named = false; copy = 0 }

inline invalidate() {
	x = newest;
	do
	:: x == NONE -> break
	:: else -> lease[x].invalidated = true; x = lease[x].older
	od;
	x = 0
}

inline supersede() {
	x = newest;
	do
	:: x == NONE -> break
	:: else ->
		if
		:: lease[x].sent ->
			lease[x].invalidated = lease[x].invalidated || lease[x].hasAfter && lease[x].after != v;
			lease[x].hasAfter = true; lease[x].after = v
		:: else
		fi;
		x = lease[x].older
	od;
	x = 0
}

inline land(l) {
	if
	:: newest == l -> newest = lease[l].older
	:: else ->
		x = newest;
		do
		:: x == NONE -> break
		:: x != NONE && lease[x].older == l -> lease[x].older = lease[l].older; break
		:: else -> x = lease[x].older
		od
	fi;
	x = 0
}

inline clearLease(l) {
	lease[l].older = 0; lease[l].storable = 0; lease[l].settled = 0; lease[l].invalidated = 0;
	lease[l].now = 0; lease[l].sent = 0; lease[l].hasAfter = 0; lease[l].named = 0;
	lease[l].after = 0; lease[l].epoch = 0; lease[l].asOf = 0; lease[l].c0 = 0; lease[l].value = 0
}

#define tokenMayAsk (has(visible, 0) && delivered >= 1)
#define othersEnded(i) ((ended | LAST) == upTo(READERS))
#define known(t) (has(settled, t) || has(released, t) && has(visible, t) || \
	NOTIFY && t < delivered && has(visible, t))

proctype Reader(byte i) {
	byte at, sum, its, itsC0, itsEpoch, itsValue;
	bool itsNamed, miss;
	d_step {
		(!has(TOKEN, i) || tokenMayAsk) && (!has(LAST, i) || othersEnded(i)) ->
		printf("{read %d}\n", i);
		for (k : 0 .. TXS - 1) {
			if
			:: known(k) || has(visible, k) && (has(TOKEN, i) && k == 0 || needsNow(i)) ->
				floor[i] = shows(floor[i] | bitOf(k))
			:: else
			fi
		}
		k = 0;
		told[i] = answered;
		at = applied
	}

	/* ReadSet.Valid. The sum is read before the rest, and noted if that is good. */
	if
	:: d_step {
			kept && !needsNow(i) ->
			its = copy; itsC0 = c0; itsEpoch = copyEpoch; itsValue = value; itsNamed = named;
			sum = (is(all_is_not_in_the_sum) -> 0 : version[EVERYTHING]);
			CUT
			sum = sum + version[TABLE];
			CUT
			/* Another copy may have come: whoever has this one has what it was. */
			miss = !(its == copy && sum == seen);
		}
		if
		:: miss ->
			d_step { miss = (itsEpoch != epoch || bad(EVERYTHING, itsC0));
				CUT_WHOLE miss = miss || bad(WHOLE_TABLE, itsC0) && !is(bulk_is_not_looked_at);
				CUT miss = miss || isBad(itsNamed, itsC0) }
			if
			:: !miss && is(the_sum_is_taken_after_the_walk) ->
				d_step { sum = version[EVERYTHING] + version[TABLE] }
			:: else
			fi;
			d_step {
				if
				:: !miss && its == copy -> seen = sum
				:: else
				fi
			}
		:: else
		fi;
		d_step {
			if
			:: !miss -> v = itsValue; position = at; judge(i); v = 0; position = 0
			:: else
			fi;
			miss = false; sum = 0; its = 0; itsC0 = 0; itsEpoch = 0; itsValue = 0; itsNamed = false
		}
	:: !kept || needsNow(i)
	fi;
	if
	:: has(ended, i) -> goto done
	:: else
	fi;

	/* Space.BeginList, with the shard's lock. */
	d_step { !locked -> locked = true; at = newest }
	if
	:: at != NONE && !lease[at].invalidated && !lease[at].hasAfter &&
			lease[at].epoch == epoch ->
		d_step {
			itsC0 = lease[at].c0; itsNamed = lease[at].named;
			miss = (moved(EVERYTHING, itsC0)); its = bad(EVERYTHING, itsC0);
			CUT_WHOLE miss = miss || moved(WHOLE_TABLE, itsC0); its = its || bad(WHOLE_TABLE, itsC0);
			CUT
			miss = miss || (itsNamed && moved(TAG, itsC0) || !itsNamed && moved(TABLE, itsC0));
			its = its || isBad(itsNamed, itsC0)
		}
		d_step {
			if
			:: (!miss || is(a_moved_list_is_joined)) &&
					(needsNow(i) -> !lease[at].sent || is(now_joins_a_list_that_was_sent) :
					(has(TOKEN, i) -> lease[at].settled && (its == 0 || is(the_clock_moves_before)) || is(a_token_joins_an_unsettled_list) :
					true)) ->
				lease[at].now = lease[at].now || needsNow(i);
				waitsFor[i] = at;
				locked = false
			:: else
			fi;
			miss = false; its = 0; itsC0 = 0; itsNamed = false; at = 0
		}
	:: else -> d_step { at = 0 }
	fi;
	if
	:: waitsFor[i] != NONE || has(ended, i) -> goto done
	:: else
	fi;
	d_step {
		if
		:: needsNow(i) -> invalidate()
		:: else
		fi;
		lease[i].now = needsNow(i);
		waitsFor[i] = i;
		lease[i].asOf = applied;
		CUT lease[i].epoch = epoch;
		CUT lease[i].c0 = clock;
		CUT
		lease[i].named = !ANY_ROW && counts(lease[i].c0);
		lease[i].storable = (wholes == 0);
		miss = bad(EVERYTHING, lease[i].c0);
		CUT_WHOLE miss = miss || bad(WHOLE_TABLE, lease[i].c0);
		CUT miss = miss || isBad(lease[i].named, lease[i].c0);
		lease[i].settled = lease[i].storable && !miss;
		miss = false
	}
	d_step {
		lease[i].settled || !mu ->
		if
		:: !lease[i].settled -> lease[i].asOf = settledTo(lease[i].asOf)
		:: else
		fi;
		lease[i].older = newest; newest = i;
		locked = false
	}
	d_step { !locked -> lease[i].sent = true }
	d_step { lease[i].value = shows(visible) }

	/* Space.FinishList. */
	d_step {
		!locked ->
		locked = true;
		land(i);
		v = lease[i].value;
		supersede();
		v = 0;
		miss = !(lease[i].storable && !lease[i].invalidated && lease[i].epoch == epoch &&
			(!lease[i].hasAfter || lease[i].after == lease[i].value));
		itsNamed = !ANY_ROW && (counts(lease[i].c0) || is(its_state_is_read_when_the_load_ends) &&
			since != NONE);
		if
		:: is(the_clock_is_read_after_the_source) -> lease[i].c0 = clock
		:: else
		fi
	}
	d_step { sum = version[EVERYTHING]; CUT sum = sum + version[TABLE] }
	d_step { miss = miss || lease[i].epoch != epoch || bad(EVERYTHING, lease[i].c0);
		CUT_WHOLE miss = miss || bad(WHOLE_TABLE, lease[i].c0) && !is(bulk_is_not_looked_at);
		CUT miss = miss || isBad(itsNamed, lease[i].c0) && !is(the_sum_is_set_by_the_load) }
	if
	:: is(the_sum_is_taken_after_the_walk) -> d_step { sum = version[EVERYTHING] + version[TABLE] }
	:: else
	fi;
	d_step {
		if
		:: !miss ->
			kept = true; copies = copies + 1; copy = copies; value = lease[i].value; c0 = lease[i].c0;
			copyEpoch = lease[i].epoch; named = itsNamed; seen = sum
		:: miss && !(kept && value == lease[i].value) && !is(other_lists_stay) -> forget()
		:: else
		fi;
		v = lease[i].value; position = lease[i].asOf;
		for (k : 0 .. READERS - 1) {
			if
			:: waitsFor[k] == i -> judge(k)
			:: else
			fi
		}
		k = 0; v = 0; position = 0; sum = 0; miss = false; itsNamed = false;
		clearLease(i);
		locked = false
	}
done:	skip
}

#define told_ (delivered < TXS && has(logged, delivered) && (!NOTIFY || has(visible, delivered)))

active proctype Feed() {
	byte t, set, kk, before;
	bool old;
	do
	:: d_step { delivered < TXS && has(failed, delivered) -> delivered = delivered + 1 }
	:: d_step {
		told_ && !apply ->
		apply = true; t = delivered;
		printf("{feed %d}\n", t);
		set = setFor(t); old = !NOTIFY && !registered; oldSet = oldSet | (old << t) }
#if BROKEN == published_before_the_counters
		d_step { applied = t + 1 }
#endif
		if
		:: has(LOST, t) && is(the_epoch_before_its_counter)
		:: else -> touch(set, !NOTIFY && !(has(LOST, t) && is(a_beginning_without_a_mark)), old, 0)
		fi;
		if
		:: has(LOST, t) -> /* Domain.Reset: the mark on everything, the epoch, the position */
			d_step { mu = true; wholes = wholes + !is(a_beginning_without_a_mark) }
			d_step { epoch = epoch + 1 }
			d_step { applied = t + 1; delivered = t + 1 }
			d_step {
				before = pending;
				pending = (is(a_beginning_without_a_mark) -> 0 : bitOf(t)); begins = pending;
				setOf[t] = set; mu = false }
			if
			:: is(the_epoch_before_its_counter) -> touch(set, 1, 0, 0)
			:: else
			fi;
			do
			:: before != 0 -> touch(setOf[0], -1, 0, has(oldSet, 0)); d_step { before = 0 }
			:: else -> break
			od;
			skip
		:: else ->
			d_step {
				if
				:: !NOTIFY -> pending = pending | bitOf(t); setOf[t] = set
				:: else
				fi;
				applied = t + 1; delivered = t + 1 }
		fi;
		d_step { apply = false; t = 0; set = 0; old = false }
	od
}

active proctype Settler() {
	byte t, kk;
	do
	:: d_step {
		(pending & visible) != 0 ->
		printf("{probe 0}\n");
		t = (has(pending & visible, 0) -> 0 : 1);
		pending = pending & ~bitOf(t) }
		touch(setOf[t], -1, 0, has(oldSet, t));
		if
		:: has(begins, t) -> d_step { wholes = wholes - 1 }
		:: else
		fi;
		d_step { settled = settled | bitOf(t); begins = begins & ~bitOf(t); t = 0 }
	od
}

#define rowIsFree(t) (t == 0 || has(visible | failed, t - 1))

proctype Tx(byte t) {
	byte set, kk;
	bool old;
	if
	:: has(OWN, t) && !is(lists_are_not_held) ->
		d_step { rowIsFree(t) && !apply -> apply = true; printf("{hold %d}\n", t); set = setFor(t);
			old = !registered }
		touch(set, 1, old, 0);
		d_step { apply = false; held = held | bitOf(t) }
	:: else
	fi;
	if
	:: has(FAILS, t) ->
		d_step { rowIsFree(t) -> printf("{fail %d}\n", t); failed = failed | bitOf(t) }
	:: else ->
		d_step { rowIsFree(t) -> printf("{log %d}\n", t); logged = logged | bitOf(t) }
		d_step { printf("{visible %d}\n", t); visible = visible | bitOf(t) }
	fi;
	if
	:: has(OWN, t) ->
		d_step { printf("{release %d}\n", t) }
		if
		:: is(lists_are_not_held)
		:: else -> touch(set, 0, 0, 0); touch(set, -1, 0, old)
		fi;
		d_step { released = released | bitOf(t); set = 0; old = false }
	:: else
	fi
}

#if EVICTS
active proctype Evicts() {
	d_step { kept -> printf("{evict 0}\n"); forget() }
}
#endif

#if REGISTERS
active proctype Registers() {
	d_step { !apply && !versions ->
		printf("{register 0}\n");
		registered = true;
		retire() }
}
#endif

#if REMOVES
active proctype Removes() {
	byte kk;
	d_step { !apply -> printf("{remove 0}\n"); apply = true }
	d_step { since = (is(counts_until_it_is_removed) -> since : NONE); removed = true }
	if
	:: is(removed_without_a_touch)
	:: else -> touch(bitOf(WHOLE_TABLE) | bitOf(TABLE), 0, 0, 0)
	fi;
	d_step { since = NONE; registered = false; apply = false }
}
#endif

active proctype End() {
	timeout ->
	d_step {
		assert(ended == upTo(READERS));
		assert((visible | failed) == upTo(TXS));
		x = kept && copyEpoch == epoch && !bad(EVERYTHING, c0) && !bad(WHOLE_TABLE, c0) &&
			!isBad(named, c0) || kept && seen == version[EVERYTHING] + version[TABLE];
		assert(!x || value == shows(visible)); /* no copy stays stale */
		x = 0;
		for (k : 0 .. 3) {
			assert(keptOf(k) == 0);       /* nothing is kept for ever */
			assert(stampOf(k) <= clock)
		}
		k = 0
	}
}

init {
	atomic {
		for (k : 0 .. TXS - 1) { run Tx(k) }
		for (k : 0 .. READERS - 1) { run Reader(k) }
		k = 0
	}
}
