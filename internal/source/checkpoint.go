package source

// A Checkpoint is where a feed can go on after its process has ended: a position,
// and what tells whether that position still means the same. It is kept with
// copies that outlive the process, and given back to a Resumer at the next start.
type Checkpoint struct {
	// Origin names the history that Pos belongs to. Positions of two origins
	// cannot be compared. Unlike the origin that Attached tells, it changes when
	// the database may have lost what it had shown, as by a crash.
	Origin string
	Pos    Position

	// Note is the feed's own: what else must still be so for Pos to be good.
	Note string
}

// A CheckpointStore has copies that outlive the process, such as a cache on disk.
type CheckpointStore interface {
	// Complete returns the checkpoint up to which the copies are complete, also after
	// a crash: a change after it may be in none of them, and must be delivered
	// again. It is the zero Checkpoint while nothing is known. keeps is false when
	// there are no copies and there will be none: then no checkpoint matters.
	Complete() (p Checkpoint, keeps bool)
}

// A Resumer is a Feed that can go on where another process has stopped.
//
// It decides by itself whether it can: any doubt that a change may have been
// missed, or that the database has lost what was seen of it, is told to the
// handler by Attached, as by any feed. Only else it tells a ResumeHandler
// Resumed.
type Resumer interface {
	Feed

	// UseCheckpoints names the store. It is called before Run, once.
	UseCheckpoints(s CheckpointStore)

	// Checkpoint returns one from which the feed would deliver again every change
	// that copies which are complete up to pos may lack. It reports false when
	// there is none, as when this feed keeps nothing to resume by.
	// It may be called within the methods of the handler.
	Checkpoint(pos Position) (Checkpoint, bool)
}

// A ResumeHandler is a Handler that a Resumer can tell of a beginning without a
// gap.
type ResumeHandler interface {
	Handler

	// Resumed says that every change after pos of origin (that of Attached) is
	// going to be delivered, some of them perhaps for the second time, and that
	// the copies of the CheckpointStore lack no change before pos. It is also said
	// after a connection broke. The handler reports whether it can go on from
	// there; if not, the feed begins anew and says Attached.
	Resumed(origin string, pos Position) bool
}
