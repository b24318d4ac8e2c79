package links

import (
	"strings"
	"unicode/utf8"
)

const (
	// blockSize is how many numbers of links one bit of a part stands for.
	blockSize = 256

	// partBlocks is how many blocks a part has: the bits of one word.
	partBlocks = 64

	// gramBits is the number of bits of a hash of a gram.
	gramBits = 14

	// mostParts bounds the memory: 64 MiB, for 8 million links.
	mostParts = 512
)

// grams say in which blocks of links a text may occur, whatever its case: those in which
// every three characters of it that follow each other occur, or all of it when it is shorter.
// A block that they name may not have it, but none that has it is left out, for nothing is
// taken back: a link that has been changed or deleted is still where it was.
type grams struct {
	// parts have, for each hash, the blocks in which it occurs, by the number of their first
	// link / (blockSize * partBlocks).
	parts map[int64]*[1 << gramBits]uint64
}

func newGrams() *grams { return &grams{parts: make(map[int64]*[1 << gramBits]uint64)} }

// add adds the texts of a link. It reports false when there is no room for it.
func (g *grams) add(id int64, texts ...string) bool {
	if id < 0 {
		return false
	}
	block := id / blockSize
	part := g.parts[block/partBlocks]
	if part == nil {
		if len(g.parts) == mostParts {
			return false
		}
		part = new([1 << gramBits]uint64)
		g.parts[block/partBlocks] = part
	}
	bit := uint64(1) << (block % partBlocks)
	for _, text := range texts {
		eachGram(text, 1, func(h uint32) { part[h] |= bit })
	}
	return true
}

// find returns the blocks in which a text may occur, in no order, at most limit+1.
func (g *grams) find(text string, limit int) (blocks []int64) {
	length := min(utf8.RuneCountInString(text), 3)
	for first, part := range g.parts {
		in := ^uint64(0)
		eachGram(text, length, func(h uint32) { in &= part[h] })
		for bit := int64(0); in != 0; bit, in = bit+1, in>>1 {
			if in&1 != 0 {
				blocks = append(blocks, first*partBlocks+bit)
			}
		}
		if len(blocks) > limit {
			break
		}
	}
	return blocks
}

// eachGram calls fn with the hash of every 1, 2 and 3 characters of a text that follow each
// other, unless they are fewer than least. Case does not matter, and neither does it which
// character it is of those that are not ASCII: databases fold them by rules of their own.
func eachGram(text string, least int, fn func(uint32)) {
	last, length := uint32(0), 0
	for _, r := range strings.ToLower(text) {
		if r >= utf8.RuneSelf {
			r = utf8.RuneSelf
		}
		last = last<<8&0xffffff | uint32(r)
		length = min(length+1, 3)
		for n := least; n <= length; n++ {
			fn(hashGram(last & (1<<(8*n) - 1)))
		}
	}
}

// hashGram returns the place of a gram in a part.
func hashGram(g uint32) uint32 { return g * 2654435761 >> (32 - gramBits) }
