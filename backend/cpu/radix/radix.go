// Package radix sorts words: a key in the upper half, and in the lower where the
// key came from. It knows nothing of tensors, nor of what the keys stand for.
//
// Places are different, so that words of equal keys have one order too: no result
// depends on the way it was found, or on the number of workers.
package radix

import (
	"math/bits"
	"slices"
	"sync"
)

// A Word is a key in its upper 32 bits and a place in its lower.
type Word = uint64

// MaxLength is the greatest number of words whose places can be told apart.
const MaxLength = 1 << 32

const (
	// fewLength is the number of words from which vectors are of use.
	fewLength = 6
	// insertionLength is the number of words up to which each is put in its place
	// among those before it, where there are no vectors.
	insertionLength = 80
	// wideLength is the number of words from which digits are wide: fewer passes
	// over the words, and larger tables.
	wideLength = 1 << 12
	// nearLength is the number of words above which they are first divided by their
	// highest digit: passes over the parts find these in a cache.
	nearLength = 1 << 14
)

// A digit is as many bits of a key as one pass looks at.
const (
	narrowDigit = 8
	wideDigit   = 11
)

// Sort orders a, whose places ascend where keys are equal, and returns the ordered
// words: they are in a or in spare, which is as long. What the other one holds then
// is arbitrary.
func Sort(a, spare []Word) []Word {
	t := tablesPool.Get().(*tables)
	defer tablesPool.Put(t)
	spare = spare[:len(a)]
	if len(a) > nearLength {
		t.divide(a, spare, false)
		return a
	}
	return t.near(a, spare)
}

// tables is room for the counts of all digits of a key.
type tables struct {
	counts [4 << wideDigit]uint32
}

var tablesPool = sync.Pool{New: func() any { return new(tables) }}

// near is Sort for words that fit in a cache.
func (t *tables) near(a, spare []Word) []Word {
	switch n := len(a); {
	case n < fewLength:
		insertion(a)
		return a
	case n <= rankLength:
		return few(a, spare)
	case n <= insertionLength:
		insertion(a)
		return a
	}
	return t.spread(a, spare)
}

const (
	// spreadLength is the number of words from which spread looks at a wide digit.
	spreadLength = 1 << 10
	// mostAlike is how many words may have the same highest digit for insertion to take less time
	// than the passes over other digits.
	mostAlike = 24
)

// spread orders words by their highest digit alone, and each among those few that have the same one.
// Where these are many it orders them by all digits.
func (t *tables) spread(a, spare []Word) []Word {
	differ := differing(a)
	if differ == 0 {
		return a
	}
	digit := uint(narrowDigit)
	if len(a) >= spreadLength {
		digit = wideDigit
	}
	shift := highest(differ, digit)
	counts := t.counts[:1<<digit]
	clear(counts)
	count(counts, a, shift, digit)
	if shift > 0 && slices.Max(counts) > mostAlike {
		if len(a) < wideLength {
			return t.byDigits(a, spare, differ, narrowDigit)
		}
		return t.byDigits(a, spare, differ, wideDigit)
	}
	places(counts)
	scatter(spare, a, counts, shift, digit)
	if shift > 0 {
		insertion(spare)
	}
	return spare
}

// into is near with the ordered words in a, or if inSpare in spare.
func (t *tables) into(a, spare []Word, inSpare bool) {
	if len(a) == 0 {
		return
	}
	if sorted := t.near(a, spare); &sorted[0] == &a[0] {
		give(a, spare, inSpare)
	} else {
		give(spare, a, !inSpare)
	}
}

// give leaves words in a, or copies them to spare.
func give(a, spare []Word, inSpare bool) {
	if inSpare {
		copy(spare, a)
	}
}

func insertion(a []Word) {
	for i := 1; i < len(a); i++ {
		w, j := a[i], i
		for ; j > 0 && a[j-1] > w; j-- {
			a[j] = a[j-1]
		}
		a[j] = w
	}
}

// divide orders words, those of each highest digit by themselves, and leaves them
// in a, or if inSpare in spare.
func (t *tables) divide(a, spare []Word, inSpare bool) {
	if len(a) <= nearLength {
		t.into(a, spare, inSpare)
		return
	}
	differ := differing(a)
	if differ == 0 {
		give(a, spare, inSpare)
		return
	}
	shift := highest(differ, wideDigit)
	var ends [1 << wideDigit]uint32
	count(ends[:], a, shift, wideDigit)
	places(ends[:])
	scatterWide(spare, a, &ends, 32+shift)
	from := uint32(0)
	for _, to := range ends {
		t.divide(spare[from:to], a[from:to], !inSpare)
		from = to
	}
}

// highest returns the lowest bit of the highest digit of what differs.
func highest(d uint32, digit uint) uint { return uint(max(0, bits.Len32(d)-int(digit))) }

// byDigits orders a by one digit of the keys after the other, the lowest first, of those bits
// that differ. Digits that are the same in all keys are passed over.
func (t *tables) byDigits(a, spare []Word, differ uint32, digit uint) []Word {
	low := uint(bits.TrailingZeros32(differ))
	passes := (uint(bits.Len32(differ)) - low + digit - 1) / digit
	counts := t.counts[:passes<<digit]
	clear(counts)
	count(counts, a, low, digit)
	for p := range passes {
		shift := low + p*digit
		if differ>>shift&(1<<digit-1) == 0 {
			continue
		}
		next := counts[p<<digit:][:1<<digit]
		places(next)
		scatter(spare, a, next, shift, digit)
		a, spare = spare, a
	}
	return a
}

// differing returns the bits that are not the same in all keys of a.
func differing(a []Word) uint32 {
	first, d := a[0], Word(0)
	for _, w := range a {
		d |= w ^ first
	}
	return uint32(d >> 32)
}

// count adds to counts how often each value of each digit is in a. Tables are one
// after the other, that of the lowest digit first, which begins at bit low.
func count(counts []uint32, a []Word, low, digit uint) {
	mask := uint32(1)<<digit - 1
	switch tables := uint(len(counts)) >> digit; tables {
	case 1:
		for _, w := range a {
			counts[uint32(w>>32)>>low&mask]++
		}
	case 2:
		c0, c1 := counts[:1<<digit], counts[1<<digit:]
		for _, w := range a {
			k := uint32(w>>32) >> low
			c0[k&mask]++
			c1[k>>digit&mask]++
		}
	case 3:
		c0, c1, c2 := counts[:1<<digit], counts[1<<digit:2<<digit], counts[2<<digit:]
		for _, w := range a {
			k := uint32(w>>32) >> low
			c0[k&mask]++
			c1[k>>digit&mask]++
			c2[k>>(2*digit)&mask]++
		}
	default:
		c0, c1, c2, c3 := counts[:1<<digit], counts[1<<digit:2<<digit], counts[2<<digit:3<<digit], counts[3<<digit:]
		for _, w := range a {
			k := uint32(w>>32) >> low
			c0[k&mask]++
			c1[k>>digit&mask]++
			c2[k>>(2*digit)&mask]++
			c3[k>>(3*digit)&mask]++
		}
	}
}

// places makes of counts where the first word of each value goes.
func places(counts []uint32) {
	sum := uint32(0)
	for i, n := range counts {
		counts[i] = sum
		sum += n
	}
}

// scatter is scatterNarrow or scatterWide, by the digit of the keys at shift.
func scatter(to, a []Word, next []uint32, shift, digit uint) {
	if digit == narrowDigit {
		scatterNarrow(to, a, (*[1 << narrowDigit]uint32)(next), 32+shift)
	} else {
		scatterWide(to, a, (*[1 << wideDigit]uint32)(next), 32+shift)
	}
}

// scatterNarrow moves the words of a to where next says, by the digit at shift.
// Afterwards next says where the words of each value end.
func scatterNarrow(to, a []Word, next *[1 << narrowDigit]uint32, shift uint) {
	for _, w := range a {
		d := w >> (shift & 63) & (1<<narrowDigit - 1)
		at := next[d]
		next[d] = at + 1
		to[at] = w
	}
}

// scatterWide is scatterNarrow for wide digits.
func scatterWide(to, a []Word, next *[1 << wideDigit]uint32, shift uint) {
	for _, w := range a {
		d := w >> (shift & 63) & (1<<wideDigit - 1)
		at := next[d]
		next[d] = at + 1
		to[at] = w
	}
}
