package keys

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

// before reports a < b with NaN above all numbers.
func before(a, b float64) bool { return a < b || a == a && b != b }

// A sample is elements of a dtype, in memory and as numbers.
type sample struct {
	dtype  ir.DType
	memory []uint64
	values []float64
}

func (s *sample) at(i int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(&s.memory[0]), i*s.dtype.Size())
}

// samples returns n elements of every dtype there are keys of: small numbers, the
// extremes and, for floats, zeros of both signs, infinities and several NaN.
func samples(n int) (all []*sample) {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	for d := range ir.DType(ir.NumDTypes) {
		if Of(d) == nil {
			continue
		}
		s := &sample{dtype: d, memory: make([]uint64, n+1), values: make([]float64, n)}
		raw := unsafe.Slice((*byte)(s.at(0)), 8*(n+1))
		for i := range s.values {
			bits := rng.Uint64()
			switch rng.IntN(4) {
			case 0:
				bits = uint64(rng.IntN(7) - 3)
			case 1:
				bits = []uint64{1 << 31, 1<<31 - 1, 1 << 63, 1<<63 - 1, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc00000, 0x7f800001, 0x7ff0000000000000, 0xfff0000000000000,
					0x7ff8000000000001, 0xfff8000000000000, 0x3f800000, 0xbf800000, 1, 0x80000001}[rng.IntN(17)]
			}
			at := raw[i*d.Size():]
			switch d {
			case ir.Bool:
				at[0] = byte(bits & 1)
				s.values[i] = float64(at[0])
			case ir.Uint8:
				at[0] = byte(bits)
				s.values[i] = float64(at[0])
			case ir.Int8:
				at[0] = byte(bits)
				s.values[i] = float64(int8(bits))
			case ir.Int16:
				binary.NativeEndian.PutUint16(at, uint16(bits))
				s.values[i] = float64(int16(bits))
			case ir.Int32:
				binary.NativeEndian.PutUint32(at, uint32(bits))
				s.values[i] = float64(int32(bits))
			case ir.Int64: // of few bits, so that they are float64
				bits = uint64(int64(bits) >> 12)
				binary.NativeEndian.PutUint64(at, bits)
				s.values[i] = float64(int64(bits))
			case ir.Float32:
				binary.NativeEndian.PutUint32(at, uint32(bits))
				s.values[i] = float64(math.Float32frombits(uint32(bits)))
			case ir.Float64:
				binary.NativeEndian.PutUint64(at, bits)
				s.values[i] = math.Float64frombits(bits)
			}
		}
		all = append(all, s)
	}
	return all
}

// TestOrder: keys of pairs of elements order as the elements do, and are equal where
// these are.
func TestOrder(t *testing.T) {
	const n = 230
	for _, s := range samples(n) {
		code := Of(s.dtype)
		for _, flip := range []uint64{0, math.MaxUint64} {
			words := make([]Word, n)
			code.Load(words, s.at(0), 0, 1, flip)
			key := func(i int) uint64 {
				if code.Long {
					return words[i]
				}
				if got := uint32(words[i]); got != uint32(i) {
					t.Fatalf("%s: element %d has place %d", s.dtype, i, got)
				}
				return words[i] >> 32
			}
			for i, x := range s.values {
				for j, y := range s.values {
					want := before(x, y)
					if flip != 0 {
						want = before(y, x)
					}
					if got := key(i) < key(j); got != want {
						t.Fatalf("%s, flip %x: key of %v below that of %v: %v", s.dtype, flip, x, y, got)
					}
				}
			}
		}
	}
}

// TestBack: elements of every length, from every first one and with steps come back,
// bit by bit, with their places, and nothing is written beside.
func TestBack(t *testing.T) {
	for n := range 67 {
		for _, s := range samples(n) {
			code, size := Of(s.dtype), s.dtype.Size()
			for _, step := range []int{1, 3} {
				for _, flip := range []uint64{0, math.MaxUint64} {
					m := n / step
					for first := 0; first <= min(m, 3); first++ {
						words := make([]Word, m-first)
						code.Load(words, s.at(0), first, step, flip)
						if code.Long {
							for i := range words {
								words[i] = Word(first + i)
							}
						}
						got, index := make([]byte, 8*(n+1)), make([]int64, n+1)
						want, wantIndex := make([]byte, len(got)), make([]int64, n+1)
						for i := range got {
							got[i], want[i] = 0xa5, 0xa5
						}
						from := unsafe.Slice((*byte)(s.at(0)), len(got))
						for i := first; i < m; i++ {
							copy(want[i*step*size:][:size], from[i*step*size:])
							wantIndex[i*step] = int64(i)
						}
						code.Store(unsafe.Pointer(&got[0]), index, s.at(0), words, first, step, flip)
						if !bytes.Equal(want, got) || !slices.Equal(wantIndex, index) {
							t.Fatalf("%s, %d elements from %d, step %d (-want +got):\n%s", s.dtype, m, first, step, cmp.Diff(want, got)+cmp.Diff(wantIndex, index))
						}
					}
				}
			}
		}
	}
}

// TestFind: what is passed over has no smaller key, and it stops for some reason.
func TestFind(t *testing.T) {
	found := 0
	for n := range 130 {
		for _, s := range samples(n) {
			code := Of(s.dtype)
			if code.Find == nil || n == 0 {
				continue
			}
			shift := 32
			if code.Long {
				shift = 0
			}
			for _, flip := range []uint64{0, math.MaxUint64} {
				words := make([]Word, n)
				code.Load(words, s.at(0), 0, 1, flip)
				for _, limit := range words {
					for lo := range min(n, 5) {
						at := code.Find(s.at(0), lo, n, limit, flip)
						for i := lo; i < at; i++ {
							if words[i]>>shift < limit>>shift {
								t.Fatalf("%s: passed over %v, looking from %d to %d", s.dtype, s.values[i], lo, n)
							}
						}
						below := n-at < 8
						for i := at; i < min(at+8, n); i++ {
							below = below || words[i]>>shift < limit>>shift
						}
						if !below {
							t.Fatalf("%s: stopped at %d of %d for nothing", s.dtype, at, n)
						}
						found++
					}
				}
			}
		}
	}
	if (Of(ir.Float32).Find != nil) != (found > 0) {
		t.Errorf("%d searches", found)
	}
}
