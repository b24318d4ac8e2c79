package clicks

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// A sketch estimates how many different visitors there were (HyperLogLog, Flajolet
// et al. 2007, with 4,096 registers: a standard error of 1.6%). Few visitors are
// kept as the first 32 bits of their hashes, sorted, and so are all but exact:
// most links have few visitors an hour, and a row for each hour.
//
// Its encoding is a version byte and either these hashes, little-endian, or the
// registers, 6 bits each: 4 bytes a visitor, 3,073 at most.
type sketch struct {
	hashes    []uint32 // sorted; nil when registers is not
	registers []byte
	dirty     bool // has changed since it was last written
}

const (
	sketchBits      = 12
	registers       = 1 << sketchBits
	mostHashes      = 512
	formHashes      = 1
	formRegisters   = 2
	packedRegisters = registers * 6 / 8
)

// add adds a visitor, by a hash of all 64 bits.
func (s *sketch) add(visitor uint64) { s.addHash(uint32(visitor >> 32)) }

// addHash adds the first 32 bits of a hash.
func (s *sketch) addHash(h uint32) {
	if s.registers != nil {
		s.raise(h)
		return
	}
	i, found := slices.BinarySearch(s.hashes, h)
	if found {
		return
	}
	s.dirty = true
	if len(s.hashes) < mostHashes {
		s.hashes = slices.Insert(s.hashes, i, h)
		return
	}
	s.registers = make([]byte, registers)
	for _, old := range s.hashes {
		s.raise(old)
	}
	s.hashes = nil
	s.raise(h)
}

// raise puts a hash into its register.
func (s *sketch) raise(h uint32) {
	i := h >> (32 - sketchBits)
	rank := byte(min(bits.LeadingZeros32(h<<sketchBits), 32-sketchBits) + 1)
	if rank > s.registers[i] {
		s.registers[i] = rank
		s.dirty = true
	}
}

// merge adds the visitors of another sketch.
func (s *sketch) merge(o *sketch) {
	if o.registers == nil {
		for _, h := range o.hashes {
			s.addHash(h)
		}
		return
	}
	if s.registers == nil {
		mine := s.hashes
		s.hashes, s.registers = nil, slices.Clone(o.registers)
		s.dirty = true
		for _, h := range mine {
			s.raise(h)
		}
		return
	}
	for i, rank := range o.registers {
		if rank > s.registers[i] {
			s.registers[i] = rank
			s.dirty = true
		}
	}
}

// ranks are how many registers have each rank.
type ranks [32 - sketchBits + 2]int32

// estimate returns about how many visitors were added.
func (s *sketch) estimate() uint64 {
	if s.registers == nil {
		return uint64(len(s.hashes))
	}
	var r ranks
	for _, rank := range s.registers {
		r[rank]++
	}
	return r.estimate()
}

// estimate returns about how many visitors registers with these ranks stand for.
func (r *ranks) estimate() uint64 {
	sum := 0.0
	for rank, n := range r {
		sum += float64(n) / float64(uint64(1)<<rank)
	}
	const m = float64(registers)
	raw := 0.7213 / (1 + 1.079/m) * m * m / sum
	if empty := r[0]; raw <= 2.5*m && empty > 0 {
		raw = m * math.Log(m/float64(empty))
	}
	return uint64(raw + 0.5)
}

// append appends the encoding.
func (s *sketch) append(dst []byte) []byte {
	if s.registers == nil {
		dst = append(dst, formHashes)
		for _, h := range s.hashes {
			dst = binary.LittleEndian.AppendUint32(dst, h)
		}
		return dst
	}
	dst = append(dst, formRegisters)
	for i := 0; i < registers; i += 4 {
		r := s.registers[i : i+4]
		four := uint32(r[0]) | uint32(r[1])<<6 | uint32(r[2])<<12 | uint32(r[3])<<18
		dst = append(dst, byte(four), byte(four>>8), byte(four>>16))
	}
	return dst
}

// errSketch is what every broken encoding is.
var errSketch = errors.New("broken sketch of visitors")

// parseSketch reads an encoding; an empty one has no visitors.
func parseSketch(b []byte) (*sketch, error) {
	if len(b) == 0 {
		return &sketch{}, nil
	}
	form, b := b[0], b[1:]
	switch {
	case form == formHashes && len(b)%4 == 0 && len(b)/4 <= mostHashes:
		s := &sketch{hashes: make([]uint32, len(b)/4)}
		for i := range s.hashes {
			s.hashes[i] = binary.LittleEndian.Uint32(b[4*i:])
			if i > 0 && s.hashes[i] <= s.hashes[i-1] {
				return nil, errSketch
			}
		}
		return s, nil
	case form == formRegisters && len(b) == packedRegisters:
		s := &sketch{registers: make([]byte, registers)}
		for i := 0; i < registers; i += 4 {
			at := b[i/4*3:]
			four := uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16
			for j := range 4 {
				rank := byte(four>>(6*j)) & 63
				if rank > 32-sketchBits+1 {
					return nil, errSketch
				}
				s.registers[i+j] = rank
			}
		}
		return s, nil
	}
	return nil, errSketch
}

// Visitors returns how many different visitors the column hll of a row of
// click_sketches stands for; 0 for null and for what cannot be read. A chart asks for
// thousands of them: registers are counted as they are packed.
func Visitors(hll []byte) uint64 {
	if len(hll) != 1+packedRegisters || hll[0] != formRegisters {
		s, err := parseSketch(hll)
		if err != nil {
			return 0
		}
		return s.estimate()
	}
	var all [64]int32
	for b := hll[1:]; len(b) >= 3; b = b[3:] {
		four := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		all[four&63]++
		all[four>>6&63]++
		all[four>>12&63]++
		all[four>>18&63]++
	}
	var r ranks
	for rank, n := range all {
		if rank < len(r) {
			r[rank] = n
		} else if n > 0 {
			return 0
		}
	}
	return r.estimate()
}
