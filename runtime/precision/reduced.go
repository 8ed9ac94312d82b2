package precision

import (
	"errors"

	"github.com/sinter-go/sinter/ir"
)

// A Half is a 16-bit float dtype whose products have flags of their own.
type Half uint8

// The 16-bit floats.
const (
	FP16 Half = iota
	BF16
)

func (h Half) of(s *ir.Sums) *ir.Partial {
	if h == BF16 {
		return &s.BF16
	}
	return &s.FP16
}

// ReducedReduction reports whether the partial sums of products of h may be
// rounded to h where a product is split along its inner extent, and whether it
// may be split at all. Both are true unless switched off.
func ReducedReduction(h Half) (reduced, split bool) {
	now := Now()
	r := h.of(&now.Sums)
	return r.Rounded, r.Split
}

// SetReducedReduction sets both. Partial sums exist only where products are
// split: (true, false) is an error, and changes nothing.
func SetReducedReduction(h Half, reduced, split bool) error {
	if reduced && !split {
		return errors.New("allow_splitk=False needs reduced precision reductions to be off, too")
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	change(func(p *ir.Precision) { *h.of(&p.Sums) = ir.Partial{Rounded: reduced, Split: split} })
	return nil
}

// FP16Accumulation reports whether products of float16 may be summed in float16. It is
// false unless switched on.
func FP16Accumulation() bool { return Now().Sums.InFP16 }

// SetFP16Accumulation sets it.
func SetFP16Accumulation(on bool) {
	state.mu.Lock()
	defer state.mu.Unlock()
	change(func(p *ir.Precision) { p.Sums.InFP16 = on })
}
