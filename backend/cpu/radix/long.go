package radix

import "math/bits"

// Long orders keys of 64 bits. The places of the words it returns, which are in a or
// in spare, each as long as keys, are those of keys in ascending order, of equal ones
// in the order they are in. The words' own keys are parts of keys. Sort is Sort or
// SortParallel.
func Long(keys []uint64, a, spare []Word, sort func(a, spare []Word) []Word) []Word {
	if len(keys) == 0 {
		return a
	}
	least, most := keys[0], keys[0]
	for _, k := range keys {
		least, most = min(least, k), max(most, k)
	}
	shift := max(0, bits.Len64(most-least)-32)
	for i, k := range keys {
		a[i] = (k-least)>>shift<<32 | Word(i)
	}
	sorted := sort(a, spare)
	if shift == 0 {
		return sorted
	}
	other := spare
	if &sorted[0] == &spare[0] {
		other = a
	}
	refine(keys, least, sorted, other)
	return sorted
}

// shortRun is the number of words up to which a run is ordered by comparing.
const shortRun = 16

// refine orders words whose keys are equal by the keys they are parts of, which
// differ in their lower halves once the least of all was taken away.
func refine(keys []uint64, least uint64, a, spare []Word) {
	for lo := 0; lo < len(a); {
		hi := lo + 1
		for hi < len(a) && a[hi]>>32 == a[lo]>>32 {
			hi++
		}
		if hi-lo > shortRun {
			refineLong(keys, least, a[lo:hi], spare[lo:hi])
		} else if hi-lo > 1 {
			refineShort(keys, a[lo:hi])
		}
		lo = hi
	}
}

func refineShort(keys []uint64, run []Word) {
	for i := 1; i < len(run); i++ {
		w, j := run[i], i
		for k := keys[uint32(w)]; j > 0 && keys[uint32(run[j-1])] > k; j-- {
			run[j] = run[j-1]
		}
		run[j] = w
	}
}

func refineLong(keys []uint64, least uint64, run, spare []Word) {
	lower, ranks := make([]Word, len(run)), spare
	for i, w := range run {
		lower[i] = Word(uint32(keys[uint32(w)]-least))<<32 | Word(i)
	}
	sorted := Sort(lower, spare)
	if &sorted[0] == &spare[0] {
		ranks = lower
	}
	for i, w := range sorted {
		ranks[i] = run[uint32(w)]
	}
	copy(run, ranks)
}
