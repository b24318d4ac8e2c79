package gofast

import "time"

// Limits bound what a Decoder accepts. A zero field takes its default.
type Limits struct {
	// Packet is the longest packet, which is what a whoami announces as buffer
	// size: 64 KiB.
	Packet int
	// Tags are the compressions that are read: none.
	Tags Tags
	// Depth is how many compressions may be around a message: 4.
	Depth int
	// Ratio is how many times its compressed size a message may have: 100. What
	// decompresses to 4 KiB or less is always accepted.
	Ratio int
	// Inflated is the most a packet may decompress to: Packet.
	Inflated int
}

// DefaultPacket is the longest packet that is accepted unless said otherwise.
const DefaultPacket = 64 << 10

// defaultRatio is how much smaller than itself a message may be made.
const defaultRatio = 100

// smallInflated is what any compressed packet may grow to: below it a ratio
// says nothing.
const smallInflated = 4 << 10

// withDefaults returns l with its zero fields filled in.
func (l Limits) withDefaults() Limits {
	if l.Packet <= 0 {
		l.Packet = DefaultPacket
	}
	if l.Depth <= 0 {
		l.Depth = 4
	}
	if l.Ratio <= 0 {
		l.Ratio = defaultRatio
	}
	if l.Inflated <= 0 {
		l.Inflated = l.Packet
	}
	return l
}

// A Decoder turns bytes into frames. It keeps no data of the input between
// calls. It is not for concurrent use.
type Decoder struct {
	limits   Limits
	want     int
	last     repeat
	inflater inflater
}

// NewDecoder returns a decoder. codecs lends what decompression needs, and may
// be shared by any number of decoders; it may be nil if no tags are allowed.
func NewDecoder(l Limits, codecs *Codecs) *Decoder {
	d := &Decoder{}
	d.init(l, codecs)
	return d
}

func (d *Decoder) init(l Limits, codecs *Codecs) {
	d.limits = l.withDefaults()
	d.inflater.codecs = codecs
}

// Next reads the frame at the front of in into f and returns its length. When n
// is 0 and err nil the frame is not complete: call again with more, at best
// with Want bytes. An error is a ProtocolError, and is for ever.
//
// f.Data and f.Meta point into in, or into the decoder's memory; there they are
// valid until the next call.
func (d *Decoder) Next(in []byte, f *Frame) (n int, err error) {
	if n = d.plain(in, f); n > 0 {
		return n, nil // Fast path.
	}
	return d.next(in, f)
}

// next is Next for frames of every form.
func (d *Decoder) next(in []byte, f *Frame) (n int, err error) {
	if len(in) < MinFrame {
		d.want = MinFrame
		return 0, checkBegin(in)
	}
	if in[0] != 0xd9 || in[1] != 0xd9 || in[2] != 0xf7 {
		return 0, ErrPrefix
	}
	if f.Kind = Kind(in[3]); !f.Kind.known() {
		return 0, ErrKind
	}
	size, h := head(in[4:], majorBytes)
	if h < 1 || h > 5 {
		return 0, ErrLength
	}
	begin := 4 + h
	if size > uint64(d.limits.Packet) {
		return 0, ErrFrameSize
	}
	end := begin + int(size)
	if f.Kind == KindFinish {
		return d.finish(in, begin, end, f)
	}
	if len(in) < end {
		d.want = end
		return 0, nil
	}
	if err := d.packet(in[begin:end:end], f); err != nil {
		return 0, err
	}
	return end, nil
}

// Want returns how many bytes of input the frame has that Next has last found
// incomplete: at least so many.
func (d *Decoder) Want() int { return d.want }

// checkBegin finds junk in the first bytes of a frame, before there are enough
// of them to read it.
func checkBegin(in []byte) error {
	for i, want := range [...]byte{0xd9, 0xd9, 0xf7} {
		if i < len(in) && in[i] != want {
			return ErrPrefix
		}
	}
	if len(in) > 3 && !Kind(in[3]).known() {
		return ErrKind
	}
	if len(in) > 4 && (in[4]&0xe0 != majorBytes || in[4]&0x1f > 26) {
		return ErrLength
	}
	return nil
}

// finish reads the rest of a finish frame, whose last byte is outside of the
// byte string.
func (d *Decoder) finish(in []byte, begin, end int, f *Frame) (n int, err error) {
	if len(in) < end+1 {
		d.want = end + 1
		return 0, nil
	}
	opaque, h := head(in[begin:end], majorTag)
	if h < 1 || begin+h+1 != end || in[end-1] != 0x40 || in[end] != 0xff {
		return 0, ErrFinish
	}
	*f = Frame{Kind: KindFinish, Opaque: opaque}
	return end + 1, nil
}

// packet reads the opaque and what it tags.
func (d *Decoder) packet(b []byte, f *Frame) error {
	opaque, n := head(b, majorTag)
	if n < 1 {
		return ErrPacket
	}
	f.Opaque = opaque
	size, h := head(b[n:], majorBytes)
	if h < 1 || size != uint64(len(b)-n-h) {
		return ErrPacket
	}
	inner := b[n+h:]
	if len(inner) > 2 && inner[0] == 0xd8 && inner[1] != tagMessage {
		var err error
		if inner, err = d.inflate(inner); err != nil {
			return err
		}
	}
	return readInner(inner, f)
}

// readInner reads the map with a message.
func readInner(b []byte, f *Frame) error {
	if len(b) < 5 || b[0] != 0xd8 || b[1] != tagMessage || b[2] != 0xbf {
		return ErrHeader
	}
	if b[3] != 0xd8 || b[4] != tagID {
		return ErrID
	}
	id, h := head(b[5:], majorUint)
	if h < 1 {
		return ErrHeader
	}
	if id == 0 {
		return ErrID
	}
	b = b[5+h:]
	if len(b) < 2 || b[0] != 0xd8 || b[1] != tagData {
		return ErrHeader
	}
	data, b, ok := readBytes(b[2:])
	if !ok || len(b) == 0 {
		return ErrHeader
	}
	f.ID, f.Data, f.Prefix = id, data, nil
	f.Deadline, f.Meta, f.Flags = 0, nil, 0
	if len(b) == 1 && b[0] == 0xff {
		return nil
	}
	return readExtras(b, f)
}

// readBytes returns the byte string at the front of b and what follows it.
func readBytes(b []byte) (s, rest []byte, ok bool) {
	size, h := head(b, majorBytes)
	if h < 1 || size > uint64(len(b)-h) {
		return nil, nil, false
	}
	end := h + int(size)
	return b[h:end:end], b[end:], true
}

// readExtras reads the pairs behind the data, each at most once and in
// ascending order of their tags.
func readExtras(b []byte, f *Frame) error {
	last := byte(tagData)
	for len(b) > 2 && b[0] == 0xd8 && b[1] > last {
		last = b[1]
		ok := false
		switch last {
		case tagDeadline, tagFlags:
			v, h := head(b[2:], majorUint)
			if h < 1 {
				return ErrHeader
			}
			b, ok = b[2+h:], true
			if last == tagFlags {
				f.Flags = Flags(v)
			} else {
				ms := min(v, uint64(maxDeadline/time.Millisecond))
				f.Deadline = time.Duration(ms) * time.Millisecond
			}
		case tagMeta:
			f.Meta, b, ok = readBytes(b[2:])
		}
		if !ok {
			return ErrHeader
		}
	}
	if len(b) != 1 || b[0] != 0xff {
		return ErrHeader
	}
	return nil
}
