package draw_test

import (
	"fmt"
	"math"
	"math/big"
	"runtime"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/draw"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// philox is Philox 4x32-10 as its authors state it, in whole numbers of any size.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	word := func(n *big.Int, shift uint) uint32 {
		return uint32(new(big.Int).And(new(big.Int).Rsh(n, shift), big.NewInt(math.MaxUint32)).Uint64())
	}
	c := counter
	for round := range int64(10) {
		p0 := new(big.Int).Mul(big.NewInt(0xD2511F53), big.NewInt(int64(c[0])))
		p1 := new(big.Int).Mul(big.NewInt(0xCD9E8D57), big.NewInt(int64(c[2])))
		k0 := word(big.NewInt(int64(key[0])+round*0x9E3779B9), 0)
		k1 := word(big.NewInt(int64(key[1])+round*0xBB67AE85), 0)
		c = [4]uint32{word(p1, 32) ^ c[1] ^ k0, word(p1, 0), word(p0, 32) ^ c[3] ^ k1, word(p0, 0)}
	}
	return c
}

// number is the one that an index has, in float64.
func number(d draw.Numbers, index int64) float64 {
	block := uint64(index) / 4
	w := philox([4]uint32{uint32(block), uint32(block >> 32), uint32(d.Offset), uint32(uint64(d.Offset) >> 32)},
		[2]uint32{uint32(d.Seed), uint32(uint64(d.Seed) >> 32)})
	return math.Floor(float64(w[index%4])/256) / (1 << 24)
}

// TestPhilox holds the known answers of the Random123 distribution, for the oracle.
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if d := cmp.Diff(c.want, philox(c.counter, c.key)); d != "" {
			t.Errorf("philox(%x, %x) (-want +got):\n%s", c.counter, c.key, d)
		}
	}
}

var (
	streams = []draw.Numbers{{1, 0}, {-1, -1}, {0x0123456789abcdef, 1 << 40}, {math.MinInt64, math.MaxUint32}}
	indices = []int64{0, 1, 2, 3, 4, 30, 1<<34 - 8, 1<<34 - 5, 1<<62 + 3}
)

// TestUniform: numbers are those of their index whatever is drawn beside them, and nothing else is written.
func TestUniform(t *testing.T) {
	const untouched = 7
	for _, level := range simd.Usable() {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			for _, d := range streams {
				for _, index := range indices {
					for _, n := range []int{0, 1, 3, 4, 31, 32, 33, 36, 64, 67, 300} {
						all := make([]float32, n+2)
						for i := range all {
							all[i] = untouched
						}
						d.Uniform(level, all[1:n+1], index)
						for i, got := range all {
							want := float64(untouched)
							if i > 0 && i <= n {
								want = number(d, index+int64(i-1))
							}
							if float64(got) != want {
								t.Fatalf("%d numbers of %+v from %d on: number %d is %v, want %v", n, d, index, i-1, got, want)
							}
						}
					}
				}
			}
		})
	}
}

// TestLoop: a loop sees each element once, beside its number, and its index.
func TestLoop(t *testing.T) {
	if runtime.GOARCH == "amd64" && simd.Available() < simd.AVX2 {
		t.Skip("Loop takes AVX2 for granted")
	}
	d := draw.Numbers{Seed: 5, Offset: 9}
	for _, index := range []int64{0, 6} {
		for _, n := range []int{1, 1023, 1024, 1025, 3000} {
			out, kept, x := make([]float32, n), make([]uint8, n), make([]float64, n)
			for i := range x {
				x[i] = float64(i)
			}
			p := []unsafe.Pointer{unsafe.Pointer(&out[0]), unsafe.Pointer(&kept[0]), unsafe.Pointer(&x[0])}
			scalars := []ir.Scalar{ir.FloatScalar(2)}
			d.Loop(n, p, []uint8{4, 1, 8}, scalars, index, func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
				out, kept := unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*uint8)(p[1]), n)
				x, numbers := unsafe.Slice((*float64)(p[2]), n), unsafe.Slice((*float32)(p[3]), n)
				for i := range out {
					out[i] = float32(s[0].Float()) * numbers[i]
					kept[i] += uint8(int64(x[i]) - (index + int64(i)) + 100)
				}
			})
			for i := range out {
				if want := 2 * number(d, index+int64(i)); float64(out[i]) != want || int64(kept[i]) != 100-index {
					t.Fatalf("element %d of %d from %d on: %v and %d, want %v and %d", i, n, index, out[i], kept[i], want, 100-index)
				}
			}
		}
	}
}
