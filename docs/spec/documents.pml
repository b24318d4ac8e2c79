/* Documents: leases, marks of what is not settled, drops, fences, epochs, write-through, the disk.
 * README.md explains it. What is broken on purpose (BROKEN) stands in mutants, what is tried in
 * scenarios. Names of turns are those of the Go model, internal/fresh/model_test.go.
 */
#include "mutants.h"

#ifndef BROKEN
#define BROKEN 0
#endif
#define is(rule) (BROKEN == rule)

/* A scenario: so many transactions, readers, documents and formats, and sets of them by bits. */
#ifndef TXS
#define TXS 2
#endif
#ifndef READERS
#define READERS 2
#endif
#ifndef DOCS
#define DOCS 1
#endif
#ifndef FORMATS
#define FORMATS 1
#endif
#ifndef WHOLE
#define WHOLE 0   /* transactions of which the feed says "the whole table" */
#endif
#ifndef OWN
#define OWN 0     /* written through hotrow */
#endif
#ifndef KEPT
#define KEPT 0    /* own ones that have read their document back, and keep it */
#endif
#ifndef LOST
#define LOST 0    /* the feed misses them, and says so by a new epoch */
#endif
#ifndef BEGINS
#define BEGINS 0  /* the feed begins anew after their log record */
#endif
#ifndef NOTIFY
#define NOTIFY 0  /* the feed tells only what is visible */
#endif
#ifndef NOW
#define NOW 0     /* readers who ask for the source itself */
#endif
#ifndef TOKEN
#define TOKEN 0   /* readers with the position of transaction 0 */
#endif
#ifndef DOC1
#define DOC1 0    /* readers of document 1 */
#endif
#ifndef FORMAT1
#define FORMAT1 0 /* readers who want format 1 */
#endif
#ifndef AFTER
#define AFTER 0   /* readers of the process that comes after the one that is killed, or who come last */
#endif
#ifndef BEHIND
#define BEHIND 0  /* readers who begin when the one before has ended */
#endif
#ifndef WARM
#define WARM 0    /* there is a copy in format 0 already, in memory; 2: on disk */
#endif
#ifndef MISSES
#define MISSES 0  /* readers whose first look into memory may miss it */
#endif
#ifndef FENCES
#define FENCES 0  /* fences that are begun, one after the other */
#endif
#ifndef DISK
#define DISK 0
#endif
#ifndef KILL
#define KILL 0    /* the process is killed once */
#endif
#ifndef ANEW
#define ANEW 0    /* after that the feed cannot go on where it was */
#endif
#ifndef RECONNECT
#define RECONNECT 0
#endif

#define has(set, i) (((set) >> (i)) & 1)
#define bitOf(i) (1 << (i))
#define includes(a, b) (((b) & ~(a)) == 0)
#define upTo(position) (bitOf(position) - 1)
#define min(a, b) ((a) < (b) -> (a) : (b))
#define max(a, b) ((a) > (b) -> (a) : (b))
#define NONE 255
#define ALL_TXS (upTo(TXS))

/* A turn prints its name, which a trail shows. What goes on with it prints none: between two steps
 * of a turn anything may happen. */

#include "leases.pml"

/* The disk. */
inline putOnDisk(l) {
#if DISK
	x = leaseFlight(l);
	disk[x].kept = true; disk[x].life = life; disk[x].value = lease[l].value;
	disk[x].diskEpoch = diskEpoch; disk[x].flushes = flushes; disk[x].epoch = lease[l].epoch;
	disk[x].generation = lease[l].generation; disk[x].read = lease[l].read;
	x = 0;
#endif
	skip
}

inline flush() {
#if DISK
	flushes = flushes + !is(the_disk_is_not_told);
#endif
	skip
}

/* The disk is told up to where it is complete. */
inline place() {
#if DISK
	mark = max(mark, (is(acknowledged_when_applied) -> applied : settledTo(applied)));
	if
	:: is(acknowledged_before_it_is_on_disk) -> fileMark = mark
	:: else
	fi;
#endif
	skip
}

#if DISK
#define handsOut(fl, e, g) (disk[fl].kept && disk[fl].diskEpoch == diskEpoch && \
	disk[fl].flushes == flushes && \
	(disk[fl].life != life -> trusted : disk[fl].epoch == e && disk[fl].generation == g))

#define mayBeOlder(i) (FORMATS > 1 && answeredAt[flight(docOf(i), 1 - formatOf(i))] > fenced)

inline recall(who, copy, doc) {
	if
	:: (lease[who].now || lease[who].answered ||
			lease[who].invalidated && !is(recalled_without_its_lease) ||
			!lease[who].storable && !is(recalled_without_its_lease) ||
			!leaseValid(who) && !is(recalled_without_its_lease) ||
			mayBeOlder(who) && !is(recalled_whatever_others_got))
	:: else ->
		lease[who].value = copy.value;
		lease[who].read = clock;
		land(who);
		v = copy.value;
		supersede(doc);
		store(who);
		answerAll(who);
		v = 0;
		clearLease(who);
		watch(doc)
	fi
}
#endif

proctype Reader(byte i) {
	Copy c;
	byte d = docOf(i);
	{
		d_step { mayBegin(i) -> printf("{begin %d}\n", i); ask(i) }
		if
		:: needOf(i) == SOURCE || has(MISSES, i)
		:: needOf(i) != SOURCE ->
			d_step {
				copyOf(c, memory[flightOf(i)])
				CUT
				if
				:: c.kept && valid(c.epoch, c.generation) ->
					v = c.value; position = claim[i]; token = shown(c.read, fencedThen[i], claim[i]);
					judge(i);
					v = 0; position = 0; token = 0;
					watch(d)
				:: else
				fi;
				forget(c)
			}
		fi;
		if
		:: has(ended, i) -> goto done
		:: else
		fi;

		/* Space.Begin. The order matters: what Apply does last is read first. */
		d_step {
			!locked[d] ->
			x = newest[flightOf(i)];
			claim[i] = 0; fencedThen[i] = 0;
			if
			:: joins(x, needOf(i)) ->
				lease[x].now = lease[x].now || needOf(i) == SOURCE && !is(a_joined_load_does_not_know);
				waitsFor[i] = x;
				x = 0
			:: else ->
				x = 0;
				locked[d] = true;
				if
				:: needOf(i) == SOURCE -> invalidate(d)
				:: else
				fi;
				lease[i].now = needOf(i) == SOURCE;
				lease[i].asOf = applied; lease[i].fenced = fenced;
				waitsFor[i] = i
			fi
		}
		if
		:: waitsFor[i] != i -> goto waits
		:: else
		fi;
		d_step {
			lease[i].epoch = epoch
			CUT
#if BROKEN == generation_is_read_last
			takeStorable(i, d) CUT lease[i].generation = generation;
#else
			lease[i].generation = generation CUT takeStorable(i, d);
#endif
			skip
		}
		d_step {
			lease[i].settled || !mu ->
			if
			:: is(position_is_read_last) -> lease[i].asOf = applied
			:: else
			fi;
			if
			:: !lease[i].settled -> lease[i].asOf = settledTo(lease[i].asOf)
			:: else
			fi;
			lease[i].older = (is(a_superseded_load_is_out_of_reach) -> NONE : newest[flightOf(i)]);
			newest[flightOf(i)] = i;
			locked[d] = false
		}

		/* It looks into memory again: a copy may have been stored since it looked first. Then on
		 * the disk. */
		if
		:: d_step {
			needOf(i) != SOURCE && copyValid(flightOf(i)) -> copyOf(c, memory[flightOf(i)]) }
			d_step {
				!locked[d] ->
				printf("{find %d}\n", i);
				if
				:: (!lease[i].now || is(a_reader_of_the_source_gets_the_copy)) &&
						(!lease[i].answered || is(finds_an_older_copy)) ->
					lease[i].read = c.read;
					land(i);
					v = c.value;
					answerAll(i);
					v = 0;
					clearLease(i);
					watch(d)
				:: else
				fi;
				forget(c)
			}
#if DISK
		:: d_step {
			needOf(i) != SOURCE && handsOut(flightOf(i), lease[i].epoch, lease[i].generation) ->
			printf("{peek %d}\n", i);
			c.kept = true; c.value = disk[flightOf(i)].value }
			d_step {
				!locked[d] ->
				printf("{recall %d}\n", i);
				recall(i, c, d);
				forget(c)
			}
#endif
		:: true
		fi;
		if
		:: has(ended, i) -> goto done
		:: else
		fi;
		d_step { !locked[d] -> printf("{load %d}\n", i); lease[i].sent = !is(sent_is_not_noted) }
		d_step { lease[i].value = visible; lease[i].shows = nlogged; lease[i].read = clock }

		/* Space.Finish. */
		d_step {
			!locked[d] && !mu ->
			printf("{load %d}\n", i);
			seen = (is(the_last_is_taken_for_the_highest) -> lease[i].shows : max(seen, lease[i].shows));
			land(i);
			v = lease[i].value;
			if
			:: is(an_answer_leaves_loads_alone)
			:: else -> supersede(d)
			fi;
			y = ((lease[i].storable || is(stores_what_was_not_storable) ||
				is(settled_is_looked_at_last) && dirty[d] == 0 && wholes == 0) &&
				(!is(settled_is_looked_at_last) || dirty[d] == 0) &&
				(!lease[i].invalidated || is(stores_what_is_invalidated) ||
				is(stores_other_formats) && FORMATS > 1) && sameVersion(i) &&
				(leaseValid(i) || is(stores_an_old_stamp)));
			if
			:: y && is(stores_an_old_stamp) -> lease[i].generation = generation; lease[i].epoch = epoch
			:: else
			fi;
			x = y; y = 0;
			if
			:: x -> x = 0; agree(i, true); store(i); putOnDisk(i)
			:: else -> agree(i, false)
			fi;
			noteAnswer(i);
			answerAll(i);
			v = 0;
			clearLease(i);
			watch(d)
		}
		goto done;
waits:		has(ended, i);
done:		skip
	} unless { KILL && killed && !has(AFTER, i) }
}

/* Domain.Apply, of what the feed tells of t. */
inline publish(tx) {
	if
	:: !NOTIFY && !is(nothing_is_pending) ->
		pendingTwice = pendingTwice | (pending & bitOf(tx));
		pending = pending | bitOf(tx)
	:: else
	fi;
	applied = max(applied, tx + 1); delivered = tx + 1
}

inline markDoc(doc, unsettled) {
	if
	:: unsettled -> dirty[doc] = dirty[doc] + 1
	:: else
	fi;
	if
	:: is(mark_leaves_loads_alone)
	:: else -> invalidate(doc)
	fi;
	if
	:: is(mark_leaves_the_copy)
	:: else -> drop(doc)
	fi
}

inline unmarkDoc(doc) {
	if
	:: is(joined_after_it_is_settled) || is(settled_is_looked_at_last)
	:: else -> invalidate(doc)
	fi;
	dirty[doc] = (is(takes_all_marks_away) -> 0 : dirty[doc] - 1)
}

/* The marks of t go. */
#define unmark(t, asBegin) \
	if \
	:: has(WHOLE, t) || (asBegin) -> \
		d_step { generation = generation + !is(joined_after_all_is_settled) } \
		d_step { wholes = wholes - !is(all_is_not_held) } \
	:: else -> \
		d_step { !locked[0] -> by = (t) + 1; unmarkDoc(0); by = 0 } \
		if \
		:: DOCS > 1 -> d_step { !locked[DOCS - 1] -> by = (t) + 1; unmarkDoc(DOCS - 1); by = 0 } \
		:: else \
		fi \
	fi

#define told_(t) (delivered < TXS && t == delivered && has(logged, t) && (!NOTIFY || has(visible, t)))

/* Domain.Reset: the marks of what the feed does not tell and no read may see yet, the epoch, the
 * position, and then the end of the marks of before. */
#if BROKEN == marked_after_the_epoch
#define markAndEpoch d_step { epoch = epoch + 1 } d_step { wholes = wholes + (marks != 0) }
#else
#define markAndEpoch d_step { wholes = wholes + (marks != 0) } \
	d_step { epoch = epoch + !is(a_gap_is_not_noticed) }
#endif
#define reset(unseen, end) \
	d_step { !mu -> mu = true; marks = (is(begins_without_a_mark) -> 0 : unseen) } \
	markAndEpoch \
	d_step { applied = end; delivered = end } \
	d_step { before = pending; twice = pendingTwice; endsBegin = begins; \
		pending = marks; begins = marks; pendingTwice = 0; marks = 0; mu = false } \
	do \
	:: before != 0 -> \
		unmark(lowest(before), has(endsBegin, lowest(before))); \
		d_step { \
			endsBegin = endsBegin & ~bitOf(lowest(before)); \
			if \
			:: has(twice, lowest(before)) -> twice = twice & ~bitOf(lowest(before)) \
			:: else -> before = before & (before - 1) \
			fi } \
	:: else -> break \
	od; \
	skip

active proctype Feed() {
	byte t, before, twice, endsBegin, marks;
anew:	{
	do
	:: d_step { delivered < TXS && told_(delivered) -> t = delivered; printf("{feed %d}\n", t) }
		if
		:: has(LOST | BEGINS, t) -> reset((has(BEGINS, t) -> bitOf(t) : 0), t + 1)
		:: else ->
#if BROKEN == position_is_published_first
			d_step { !mu -> applied = max(applied, t + 1) }
#endif
			if
			:: has(WHOLE, t) ->
				d_step { flush() }
#if BROKEN == unsettled_after_the_new_generation
				d_step { generation = generation + 1 }
				d_step { wholes = wholes + !NOTIFY }
#else
				d_step { wholes = wholes + (!NOTIFY && !is(all_is_not_held)) }
				d_step { generation = generation + 1 }
#endif
				d_step { flush() }
			:: else ->
				d_step { !locked[0] -> by = t + 1; markDoc(0, !NOTIFY); by = 0 }
				if
				:: DOCS > 1 && !is(one_document_is_forgotten) ->
					d_step { !locked[DOCS - 1] -> by = t + 1; markDoc(DOCS - 1, !NOTIFY); by = 0 }
				:: else
				fi
			fi;
			d_step { !mu -> publish(t) }
		fi;
#if DISK
		d_step { place() }
#endif
		d_step { t = 0 }
#if RECONNECT
	:: d_step { !reconnected -> reconnected = true; printf("{reconnect 0}\n") }
		do /* it comes back at any place of the log */
		:: t < nlogged -> d_step { t = t + 1 }
		:: break
		od;
		if
		:: t <= applied || is(goes_on_behind_a_gap) -> d_step { delivered = t }
		:: true -> reset(logged & ~visible, t)
		fi;
		d_step { t = 0 }
#endif
	od
	} unless { KILL && killed && run0 }
	;
	d_step { run0 = false; t = 0; before = 0; twice = 0; endsBegin = 0; marks = 0 }
	goto anew
}

active proctype Settler() {
	byte batch, t;
	bool beginning;
anew:	{
	do
	:: d_step { pending != 0 && !mu -> printf("{probe %d}\n", 0); batch = pending }
		d_step { printf("{probe %d}\n", 0); batch = batch & visible }
		do
		:: batch != 0 ->
			d_step { !mu -> t = lowest(batch); batch = batch & ~bitOf(t);
				beginning = has(begins, t);
				begins = begins & ~bitOf(t);
				if
				:: has(pendingTwice, t) -> pendingTwice = pendingTwice & ~bitOf(t)
				:: has(pending, t) && !has(pendingTwice, t) -> pending = pending & ~bitOf(t)
				:: else -> t = NONE
				fi
			}
			if
			:: t != NONE ->
				unmark(t, beginning);
				d_step { settled = settled | bitOf(t); t = 0; beginning = false; place() }
			:: else -> d_step { t = 0; beginning = false }
			fi
		:: else -> break
		od
	od
	} unless { KILL && killed && run1 }
	;
	d_step { run1 = false; batch = 0; t = 0; beginning = false }
	goto anew
}

/* A transaction, and what hotrow does before and after it if it is its own. */
#define rowIsFree(t) (t == 0 || has(visible, t - 1))

inline endHold(tx) {
	by = (has(KEPT, tx) -> tx + 1 : 0);
	if
	:: is(joined_after_the_release)
	:: else -> invalidate(0)
	fi;
	by = 0
}

proctype Tx(byte t) {
	byte value;
	if
	:: has(OWN, t) ->
		if
		:: d_step { !killed && (rowIsFree(t) || has(KEPT, t)) && !locked[0] ->
			printf("{hold %d}\n", t); held = held | bitOf(t);
			markDoc(0, true) }
		:: killed
		fi
	:: else
	fi;
	if
	:: has(KEPT, t) ->
		d_step { rowIsFree(t) && !locked[0] ->
			printf("{write-through %d}\n", t);
			markDoc(0, true); value = visible | bitOf(t) }
		d_step { !locked[0] -> lease[READERS + t].epoch = epoch; locked[0] = true }
		d_step { lease[READERS + t].generation = generation }
		d_step {
			lease[READERS + t].storable = (dirty[0] == 2 && wholes == 0);
			lease[READERS + t].at = t + 1; lease[READERS + t].value = value;
			lease[READERS + t].sent = !is(nothing_supersedes_what_is_kept);
			if
			:: is(what_is_kept_is_out_of_reach) -> lease[READERS + t].older = NONE
			:: else -> lease[READERS + t].older = newest[0]; newest[0] = READERS + t
			fi;
			locked[0] = false; value = 0
		}
	:: else
	fi;
	d_step { rowIsFree(t) -> printf("{log %d}\n", t); logged = logged | bitOf(t); nlogged = nlogged + 1 }
	d_step { printf("{visible %d}\n", t); visible = visible | bitOf(t) }
	if
	:: has(OWN, t) ->
		if
		:: d_step { !killed && !locked[0] ->
			printf("{release %d}\n", t);
			endHold(t); drop(0) }
		:: killed -> goto ends
		fi;
		if
		:: d_step { !killed && !locked[0] ->
			endHold(t);
			dirty[0] = dirty[0] - 1 }
		:: killed -> goto ends
		fi;
		if
		:: has(KEPT, t) -> d_step { !locked[0] -> by = t + 1; invalidate(0); by = 0; dirty[0] = dirty[0] - 1 }
		:: else
		fi;
		if
		:: d_step { !killed && !mu -> seen = max(seen, t + 1); released = released | bitOf(t) }
		:: killed
		fi
	:: else
	fi;
	if
	:: has(KEPT, t) -> /* Space.EndWriteThrough */
		d_step {
			!locked[0] ->
			printf("{keep %d}\n", t);
			keptBack = keptBack | bitOf(t);
			land(READERS + t);
			lease[READERS + t].read = clock;
			y = (lease[READERS + t].storable &&
				(!lease[READERS + t].invalidated || is(keeps_what_is_invalidated)) &&
				(sameVersion(READERS + t) || is(keeps_another_state)) &&
				(leaseValid(READERS + t) || is(keeps_an_old_stamp)));
			x = y; y = 0;
			if
			:: x ->
				x = 0;
				if
				:: is(keeps_an_old_stamp) -> lease[READERS + t].generation = generation
				:: else
				fi;
				v = lease[READERS + t].value;
				supersede(0);
				agree(READERS + t, true);
				noteAnswer(READERS + t);
				store(READERS + t);
				v = 0
			:: else
			fi;
			clearLease(READERS + t);
			watch(0)
		}
	:: else
	fi;
ends:	skip
}

/* Fences. What was visible as one began is in every copy that is answered after it was reached. */
#if FENCES
active proctype Fences() {
	byte n;
	do
	:: n < FENCES ->
		d_step { (!KILL || killed) -> printf("{fence %d}\n", 0); n++; clock++; behind = visible; fenceEnd = nlogged }
		d_step {
			applied >= fenceEnd && delivered >= fenceEnd ->
			printf("{reach %d}\n", 0);
			reached = reached | behind; fenced = n; behind = 0; fenceEnd = 0;
#if DISK
			trusted = true
#endif
		}
	:: else -> break
	od
}
#endif

#if DISK

/* The feed begins anew at the end of the log. One that is logged and not visible is not told. */
inline beginAnew() {
	diskEpoch = diskEpoch + !is(trusted_after_a_gap);
	trusted = true; mark = 0; seen = 0;
	delivered = nlogged; applied = nlogged;
	pending = logged & ~visible; begins = pending;
	wholes = (pending != 0)
}
#endif

#if KILL
active proctype Disk() {
	do
	:: d_step {
		!killed && (mark != fileMark || diskEpoch != fileDiskEpoch || flushes != fileFlushes ||
			disk[0].kept != file[0].kept || disk[0].value != file[0].value ||
			disk[0].flushes != file[0].flushes || disk[0].epoch != file[0].epoch ||
			disk[0].generation != file[0].generation) ->
		printf("{commit %d}\n", 0);
		copyDisk(file[0], disk[0]);
		fileMark = mark; fileDiskEpoch = diskEpoch; fileFlushes = flushes
	}
	:: d_step {
		!killed ->
		printf("{kill %d}\n", 0);
		killed = true; run0 = true; run1 = true;
		born = visible;
		/* Who waits gets no answer, and who writes no acknowledgement. */
		orphans = OWN & ~released;
		released = released | OWN; settled = 0;
		for (k : 0 .. LEASES - 1) { clearLease(k) }
		for (k : 0 .. READERS - 1) {
			waitsFor[k] = NONE; floor[k] = 0; told[k] = 0; mustFence[k] = 0; claim[k] = 0; fencedThen[k] = 0
		}
		for (k : 0 .. FLIGHTS - 1) { newest[k] = NONE; forget(memory[k]); answeredAt[k] = 0 }
		for (k : 0 .. DOCS - 1) { dirty[k] = 0; locked[k] = false }
		k = 0;
		mu = false; pending = 0; pendingTwice = 0; begins = 0; wholes = 0; generation = 0; seen = 0; epoch = 1; fenced = 0;
		copyDisk(disk[0], file[0]);
		mark = fileMark; diskEpoch = fileDiskEpoch; flushes = fileFlushes;
		life = 1; trusted = is(trusted_at_once);
		if
		:: ANEW -> beginAnew()
		:: else ->
			applied = mark;
			delivered = (is(goes_on_at_the_end) -> nlogged : mark)
		fi
	}
	od unless { killed }
}
#endif

active proctype End() {
	timeout ->
	d_step {
		assert(ended == upTo(READERS) || KILL);
		assert(visible == ALL_TXS);
		for (x : 0 .. FLIGHTS - 1) {
			assert(!copyValid(x) || memory[x].value == visible);
#if DISK
			assert(!handsOut(x, epoch, generation) || disk[x].value == visible)
#endif
		}
		for (x : 0 .. DOCS - 1) { assert(dirty[x] == 0) }
		assert(wholes == 0 && pending == 0);
		x = 0
	}
}

inline warm() {
#if WARM == 1
	memory[0].kept = true; memory[0].epoch = 1;
#endif
#if WARM == 2
	disk[0].kept = true; disk[0].epoch = 1;
	copyDisk(file[0], disk[0]);
#endif
	skip
}

init {
	atomic {
		warm();
		for (k : 0 .. TXS - 1) { run Tx(k) }
		for (k : 0 .. READERS - 1) { run Reader(k) }
		k = 0
	}
}
