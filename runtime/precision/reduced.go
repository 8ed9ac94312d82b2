package precision

import (
	"errors"
	"sync/atomic"
)

// A Half is a 16-bit float dtype whose products have flags of their own.
type Half uint8

// The 16-bit floats.
const (
	FP16 Half = iota
	BF16
)

func (h Half) flags() (off, splitOff *atomic.Bool) {
	if h == BF16 {
		return &reduced.bf16Off, &reduced.bf16SplitOff
	}
	return &reduced.fp16Off, &reduced.fp16SplitOff
}

// ReducedReduction reports whether the partial sums of products of h may be
// rounded to h where a product is split along its inner extent, and whether it
// may be split at all. Both are true unless switched off (P4).
func ReducedReduction(h Half) (reduced, split bool) {
	off, splitOff := h.flags()
	return !off.Load(), !splitOff.Load()
}

// SetReducedReduction sets both (P4). Partial sums exist only where products are
// split: (true, false) is an error, and changes nothing.
func SetReducedReduction(h Half, reduced, split bool) error {
	if reduced && !split {
		return errors.New("allow_splitk=False needs reduced precision reductions to be off, too")
	}
	off, splitOff := h.flags()
	off.Store(!reduced)
	splitOff.Store(!split)
	return nil
}

// FP16Accumulation reports whether products of float16 may be summed in float16
// (P5). It is false unless switched on.
func FP16Accumulation() bool { return reduced.fp16Sum.Load() }

// SetFP16Accumulation sets it.
func SetFP16Accumulation(on bool) { reduced.fp16Sum.Store(on) }
