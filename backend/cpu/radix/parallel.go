package radix

import (
	"runtime"

	"github.com/sinter-go/sinter/backend/cpu/pool"
)

const (
	// parallelLength is the number of words from which several workers sort
	// together.
	parallelLength = 1 << 16
	// maxBlocks bounds the blocks that the words are divided into, each with a
	// table of its own.
	maxBlocks = 64
)

// SortParallel is Sort by all workers, where there are so many words that it pays.
func SortParallel(a, spare []Word) []Word {
	divideParallel(a, spare[:len(a)], false)
	return a
}

// divideParallel is tables.divide by all workers: each moves a block of the words,
// and later orders those of some digits. Where one digit has most of the words they
// are divided again by all.
func divideParallel(a, spare []Word, inSpare bool) {
	blocks := min(runtime.GOMAXPROCS(0), maxBlocks, len(a)/(parallelLength/2))
	if blocks < 2 {
		t := tablesPool.Get().(*tables)
		t.divide(a, spare, inSpare)
		tablesPool.Put(t)
		return
	}
	ends := scatterParallel(a, spare, blocks)
	if ends == nil {
		give(a, spare, inSpare)
		return
	}
	most := uint32(len(a) / blocks)
	pool.For(len(ends), 1, func(lo, hi int) {
		t := tablesPool.Get().(*tables)
		defer tablesPool.Put(t)
		for ; lo < hi; lo++ {
			if from, to := begin(ends, lo), ends[lo]; to-from <= most {
				t.divide(spare[from:to], a[from:to], !inSpare)
			}
		}
	})
	for i, to := range ends {
		if from := begin(ends, i); to-from > most {
			divideParallel(spare[from:to], a[from:to], !inSpare)
		}
	}
}

// begin returns where the words of digit i begin, from where those of all end.
func begin(ends []uint32, i int) uint32 {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

// scatterParallel moves the words of a to spare, in the order of their highest
// digit, and returns where those of each digit end; nil, with nothing moved, where
// all keys are the same.
func scatterParallel(a, spare []Word, blocks int) (ends []uint32) {
	block := func(i int) []Word { return a[i*len(a)/blocks : (i+1)*len(a)/blocks] }
	each := func(f func(i int)) {
		pool.For(blocks, 1, func(lo, hi int) {
			for ; lo < hi; lo++ {
				f(lo)
			}
		})
	}
	differ := make([]uint32, blocks)
	each(func(i int) { differ[i] = differing(block(i)) | uint32((block(i)[0]^a[0])>>32) })
	d := uint32(0)
	for _, b := range differ {
		d |= b
	}
	if d == 0 {
		return nil
	}
	shift := highest(d, wideDigit)
	tables := make([][1 << wideDigit]uint32, blocks)
	each(func(i int) { count(tables[i][:], block(i), shift, wideDigit) })
	sum := uint32(0)
	for digit := range 1 << wideDigit {
		for i := range tables {
			c := &tables[i][digit]
			*c, sum = sum, sum+*c
		}
	}
	each(func(i int) { scatterWide(spare, block(i), &tables[i], 32+shift) })
	return tables[blocks-1][:]
}
