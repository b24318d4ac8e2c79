package row

// An Attachment is what a cache knows of a document, and keeps with it.
type Attachment interface {
	Size() int // bytes of memory that it takes
}

// An attachable is a document with room for an attachment. Most documents have none, and fill
// a cache line of 64 bytes.
type attachable struct {
	Document // first: see Attached

	attached Attachment
}

// Attachable returns a document like d, which has no copies yet, to which something may be
// attached.
func (d *Document) Attachable() *Document {
	a := &attachable{}
	n := &a.Document
	n.text, n.key, n.head = d.text, d.key, d.head
	n.epoch, n.generation, n.at, n.owner = d.epoch, d.generation, d.at, d.owner
	n.format, n.coding = d.format, d.coding
	n.attachable = true
	return n
}

// Attach attaches x to a document that Attachable has returned, before others see it.
func (d *Document) Attach(x Attachment) { attachableOf(d).attached = x }

// Attached returns what was attached to d; nil: nothing was.
func (d *Document) Attached() Attachment {
	if !d.attachable {
		return nil
	}
	return attachableOf(d).attached
}
