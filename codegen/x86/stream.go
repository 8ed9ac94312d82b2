package x86

import (
	"fmt"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/lane"
)

// Group is the bytes of an array that the loops of Stream take at a time.
const Group = 16 << 10

const (
	pageBytes = 4 << 10
	lineBytes = 64
	// streamArrays is how many arrays there can be: their addresses are in the first
	// of pointers, the last two are for the loop.
	streamArrays = 4
)

// A streaming is how a loop goes through memory that no cache holds.
type streaming struct {
	pages int // side by side: so many streams of each array, to the end of their pages
	lines int // of each page in turn
	ahead int // bytes from what is read to what is asked for, for the second cache
	near  int // the same for the first
}

// streamings are by measurement; most are those of loops with as many arrays as there can be.
var (
	streamings = [...]streaming{AVX2: {1, 2, 2048, 256}, AVX512: {4, 1, 1024, 192}}
	most       = [...]streaming{AVX2: {1, 2, 2048, 256}, AVX512: {1, 4, 2048, 512}}
)

// Stream makes an element-wise loop for results that no cache holds, with the type of
// vector.Func and what Loop says of it. The number of elements is a multiple of those that
// Group bytes hold, and the result begins with a cache line. Its lines are written past
// the caches; what follows the arrays is asked for, and need not be mapped.
//
// The error wraps ErrUnsupported unless there is one result, of few operands, and all
// have elements of the size that the program computes with.
func Stream(name string, p *lane.Prog, isa ISA) (*Func, error) {
	l, err := newLoop(p, isa)
	switch {
	case err != nil:
	case !l.streams():
		err = fmt.Errorf("x86: a loop past the caches: %w", ErrUnsupported)
	default:
		err = l.ready()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var b amd64.Block
	l.printEntry(&b)
	s := streamings[isa]
	if len(l.arrays) == streamArrays {
		s = most[isa]
	}
	l.printStream(&b, s)
	return l.function(name, &b), nil
}

// streams reports whether Stream is for the loop.
func (l *loop) streams() bool {
	for _, x := range l.arrays {
		if x.t.Size()*l.lanes != l.isa.vectorBytes() {
			return false
		}
	}
	return len(l.p.Outs()) == 1 && len(l.arrays) > 1 && len(l.arrays) <= streamArrays
}

// printStream writes the loop. AX holds the number of elements. Of several pages, what
// comes after their ends is not read next, but that of the next group: BX is how much
// further than ahead the loop asks, R9 where that changes, R10 what it asks for.
func (l *loop) printStream(b *amd64.Block, s streaming) {
	size := l.arrays[0].t.Size()
	page, ahead := pageBytes/size, s.ahead/size
	l.printInvariants(b, l.place())
	b.Asm("\tXORQ CX, CX\n")
	if s.pages == 1 {
		l.printLines(b, s, fmt.Sprintf("CX*%d", size), "AX")
		b.Asm("\tSFENCE\n")
		return
	}
	b.Asm("group:\n\tLEAQ %d(CX), R9\n\tXORL BX, BX\n", page-ahead)
	l.printLines(b, s, "R10*1", "R9")
	b.Asm("\tTESTQ $%d, CX\n\tJEQ next\n", page-1)
	b.Asm("\tADDQ $%d, R9\n\tMOVL $%d, BX\n\tJMP line\nnext:\n", ahead, (s.pages-1)*pageBytes)
	b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, AX\n\tJLT group\n\tSFENCE\n", (s.pages-1)*page)
}

// printLines writes the loop over lines from index CX to end, which asks for what is
// ahead of soon.
func (l *loop) printLines(b *amd64.Block, s streaming, soon, end string) {
	size := l.arrays[0].t.Size()
	page, line := pageBytes/size, lineBytes/size
	b.Asm("\tPCALIGN $32\nline:\n")
	if s.pages > 1 {
		b.Asm("\tLEAQ (BX)(CX*%d), R10\n", size)
	}
	perLine := line / l.lanes
	at := func(vector int) int { // the elements from CX to a vector
		n, part := vector/perLine, vector%perLine
		return n%s.pages*page + n/s.pages*line + part*l.lanes
	}
	for v := 0; v < s.pages*s.lines*perLine; v += l.copies {
		for k := v; k < v+l.copies; k++ {
			for i, x := range l.arrays {
				if x.read && k%perLine == 0 {
					b.Asm("\tPREFETCHT1 %d(%s)(%s)\n", at(k)*size+s.ahead, pointers[i], soon)
					b.Asm("\tPREFETCHT0 %d(%s)(CX*%d)\n", at(k)*size+s.near, pointers[i], size)
				}
			}
		}
		l.place().put(b, streamed(l.main.code, func(skip int) int { return at(v + skip/l.lanes) }))
	}
	b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, %s\n\tJLT line\n", s.lines*line, end)
}

// streamed is code whose stores go past the caches, with other distances from the
// loop's index.
func streamed(list []code, skip func(int) int) []code {
	out := make([]code, len(list))
	for i, c := range list {
		c.ops = append([]operand(nil), c.ops...)
		for k := range c.ops {
			if o := &c.ops[k]; o.kind == inArray {
				o.skip = skip(o.skip)
				if k == 0 && c.op == "VMOVUPS" {
					c.op = "VMOVNTPS"
				}
			}
		}
		out[i] = c
	}
	return out
}
