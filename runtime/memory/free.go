package memory

import "math/bits"

// A freeSet holds the free chunks of one stream in one pool, ordered by size and
// then address. Chunks are in bins by size: bins of one unit up to 64 units, then
// 32 bins to a doubling. A bin is a treap, linked through the chunks themselves,
// so nothing is allocated; most bins have a chunk or two.
type freeSet struct {
	used [binWords]uint64 // which bins are not empty
	bins [numBins]*chunk
}

const (
	exactBins = 64 // bins of one unit
	subBits   = 5  // 1<<subBits bins to a doubling above
	maxBits   = 52 // of the largest size, in units: 1 EiB is 51
	numBins   = exactBins + (maxBits-6)<<subBits
	binWords  = (numBins + 63) / 64
)

// rankFactor makes of an address a rank in the treap that is as good as random.
const rankFactor = 0x9e3779b97f4a7c15

// binOf returns the bin of chunks of size bytes, a multiple of unit.
func binOf(size int64) int {
	u := uint64(size) / unit
	if u < exactBins {
		return int(u)
	}
	top := bits.Len64(u) - 1
	return exactBins + (top-6)<<subBits + int(u>>(top-subBits))&(1<<subBits-1)
}

// before orders chunks by size, then address.
func (c *chunk) before(d *chunk) bool {
	return c.size < d.size || c.size == d.size && c.addr < d.addr
}

// insert adds c, whose size must not change while it is in the set.
func (s *freeSet) insert(c *chunk) { s.insertAt(c, binOf(c.size)) }

// insertAt adds c to its bin.
func (s *freeSet) insertAt(c *chunk, bin int) {
	c.bin = bin
	c.rank = c.addr * rankFactor
	at := &s.bins[bin]
	if *at == nil {
		*at = c
		s.used[bin/64] |= 1 << (bin % 64)
		return
	}
	for *at != nil && (*at).rank >= c.rank {
		if c.before(*at) {
			at = &(*at).left
		} else {
			at = &(*at).right
		}
	}
	below := *at
	*at = c
	left, right := &c.left, &c.right
	for below != nil { // divide what was here into what is before c and after it
		if below.before(c) {
			*left = below
			left = &below.right
			below = below.right
		} else {
			*right = below
			right = &below.left
			below = below.left
		}
	}
	*left, *right = nil, nil
}

// replace takes out one chunk, which must be in the set, and adds another, in one
// step where both are of one bin and no other chunk is there.
func (s *freeSet) replace(out, in *chunk) {
	bin := binOf(in.size)
	if out.bin == bin && s.bins[bin] == out && out.left == nil && out.right == nil {
		s.bins[bin] = in
		in.bin, in.rank = bin, in.addr*rankFactor
		return
	}
	s.remove(out)
	s.insertAt(in, bin)
}

// remove takes out c, which must be in the set.
func (s *freeSet) remove(c *chunk) {
	bin := c.bin
	at := &s.bins[bin]
	for *at != c {
		if c.before(*at) {
			at = &(*at).left
		} else {
			at = &(*at).right
		}
	}
	left, right := c.left, c.right
	if left == nil && right == nil {
		*at = nil
		if s.bins[bin] == nil {
			s.used[bin/64] &^= 1 << (bin % 64)
		}
		return
	}
	for left != nil && right != nil {
		if left.rank >= right.rank {
			*at = left
			at = &left.right
			left = left.right
		} else {
			*at = right
			at = &right.left
			right = right.left
		}
	}
	if left == nil {
		left = right
	}
	*at = left
	c.left, c.right = nil, nil
}

// bestFit returns the smallest chunk of at least size bytes, of several the one
// with the lowest address; nil if there is none. It stays in the set.
func (s *freeSet) bestFit(size int64) *chunk {
	bin := binOf(size)
	var best *chunk
	for c := s.bins[bin]; c != nil; {
		if c.size >= size {
			best, c = c, c.left
		} else {
			c = c.right
		}
	}
	if best != nil {
		return best
	}
	return s.least(bin + 1)
}

// after returns the chunk that follows c, which is in the set; nil if c is the last.
func (s *freeSet) after(c *chunk) *chunk {
	bin := c.bin
	var next *chunk
	for d := s.bins[bin]; d != nil; {
		if c.before(d) {
			next, d = d, d.left
		} else {
			d = d.right
		}
	}
	if next != nil {
		return next
	}
	return s.least(bin + 1)
}

// least returns the first chunk of the bins from bin on; nil if they are empty.
func (s *freeSet) least(bin int) *chunk {
	word, mask := bin/64, ^uint64(0)<<(bin%64)
	for ; word < binWords; word, mask = word+1, ^uint64(0) {
		if w := s.used[word] & mask; w != 0 {
			c := s.bins[word*64+bits.TrailingZeros64(w)]
			for c.left != nil {
				c = c.left
			}
			return c
		}
	}
	return nil
}
