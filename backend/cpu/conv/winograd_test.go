package conv_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// Winograd's matrices.
var (
	tileMatrix   = [][]float32{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}
	kernelMatrix = [][]float32{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}
	windowMatrix = [][]float32{{1, 1, 1, 0}, {0, 1, -1, -1}}
)

// both returns m x m' for a square x.
func both(m [][]float32, x []float32) []float32 {
	k, out := len(m[0]), make([]float32, len(m)*len(m))
	for i := range m {
		for j := range m {
			for a := range k {
				for b := range k {
					if m[i][a] != 0 && m[j][b] != 0 {
						out[i*len(m)+j] += m[i][a] * x[a*k+b] * m[j][b]
					}
				}
			}
		}
	}
	return out
}

func eachWinograd(t *testing.T, f func(t *testing.T, level simd.Level)) {
	for _, level := range simd.Usable() {
		if conv.HasWinograd(level) {
			t.Run(level.String(), func(t *testing.T) { f(t, level) })
		}
	}
}

// whole returns n whole numbers, whose sums are exact, in memory for vectors.
func whole(rng *rand.Rand, n int) []float32 {
	room := make([]float32, n+16)
	skip := int(-uintptr(unsafe.Pointer(&room[0]))&63) / 4
	x := room[skip : skip+n]
	for i := range x {
		x[i] = float32(rng.IntN(41) - 20)
	}
	return x
}

// TestSpread: planes have what is made of each tile of an image with its padding.
func TestSpread(t *testing.T) {
	eachWinograd(t, func(t *testing.T, level simd.Level) {
		rng := rand.New(rand.NewPCG(7, 1))
		for _, c := range []struct{ height, width, top, left, rows, wide int }{
			{8, 8, 0, 0, 3, 3}, {5, 33, 1, 1, 3, 17}, {12, 70, 1, 1, 6, 35}, {6, 9, 2, 2, 4, 5}, {30, 16, 0, 1, 14, 8}, {7, 64, -2, 1, 2, 32},
		} {
			image := whole(rng, c.height*c.width)
			f := conv.WinogradFrame([]int{c.height, c.width}, []int{c.top, c.left}, c.rows, c.wide)
			frame := unsafe.Pointer(&whole(rng, f.Size)[0])
			f.Fill(frame, unsafe.Pointer(&image[0]), &conv.Source{DType: ir.Float32, Want: ir.Float32, Strides: []int{c.width, 1}}, 1, 0)
			n := c.rows * c.wide
			plane := (n + 31) / 16 * 16
			got := whole(rng, conv.WinogradPlanes*plane)
			conv.Spread(level, unsafe.Pointer(&got[0]), 4*plane, f, frame, c.rows, c.wide)
			for i := range n {
				var d []float32
				for y := range 4 {
					for x := range 4 {
						row, col, v := 2*(i/c.wide)+y-c.top, 2*(i%c.wide)+x-c.left, float32(0)
						if 0 <= row && row < c.height && 0 <= col && col < c.width {
							v = image[row*c.width+col]
						}
						d = append(d, v)
					}
				}
				var of []float32
				for p := range conv.WinogradPlanes {
					of = append(of, got[p*plane+i])
				}
				if diff := cmp.Diff(both(tileMatrix, d), of); diff != "" {
					t.Fatalf("%+v, tile %d (-want +got): %s", c, i, diff)
				}
			}
		}
	})
}

// TestGather: windows are what planes say, nothing is written behind the lines, and the pairs of
// lines are told that have infinite windows or no numbers, not those of lanes that are none.
func TestGather(t *testing.T) {
	eachWinograd(t, func(t *testing.T, level simd.Level) {
		rng := rand.New(rand.NewPCG(7, 2))
		for _, c := range []struct{ lines, width int }{{1, 1}, {2, 2}, {3, 15}, {4, 16}, {5, 31}, {2, 32}, {7, 33}, {6, 45}, {128, 47}, {3, 64}, {4, 79}} {
			rows, wide := (c.lines+1)/2, (c.width+1)/2
			plane := (rows*wide + 31) / 16 * 16
			for _, bad := range []float32{0, float32(math.Inf(1)), float32(math.NaN())} {
				sums, want := whole(rng, conv.WinogradPlanes*plane), uint64(0)
				for p := range conv.WinogradPlanes {
					for i := rows * wide; i < plane; i++ {
						sums[p*plane+i] = float32(math.Inf(-1))
					}
				}
				if bad != 0 {
					row := rng.IntN(rows)
					sums[row*wide+rng.IntN(wide)] = bad // of the plane that only the first window has
					want = 1 << row
				}
				const guard = 99
				lines := whole(rng, c.lines*c.width+32)
				for i := range lines {
					lines[i] = guard
				}
				got := conv.Gather(level, unsafe.Pointer(&lines[0]), c.lines, c.width, unsafe.Pointer(&sums[0]), 4*plane)
				if got != want {
					t.Fatalf("%+v with %v: rows %b, want %b", c, bad, got, want)
				}
				for i, v := range lines {
					y, x, want := i/c.width, i%c.width, float32(guard)
					if i < c.lines*c.width {
						var m []float32
						for p := range conv.WinogradPlanes {
							m = append(m, sums[p*plane+y/2*wide+x/2])
						}
						want = both(windowMatrix, m)[y%2*2+x%2]
					}
					if v != want && !(v != v && want != want) {
						t.Fatalf("%+v with %v: element %d is %v, want %v", c, bad, i, v, want)
					}
				}
			}
		}
	})
}

// TestWinogradKernels: planes have what is made of each kernel.
func TestWinogradKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	const n, plane = 5, 11
	kernels, got := whole(rng, 9*n), make([]float32, conv.WinogradPlanes*plane)
	conv.WinogradKernels(got, plane, kernels)
	for i := range n {
		var of []float32
		for p := range conv.WinogradPlanes {
			of = append(of, got[p*plane+i])
		}
		if diff := cmp.Diff(both(kernelMatrix, kernels[9*i:9*i+9]), of); diff != "" {
			t.Errorf("kernel %d (-want +got): %s", i, diff)
		}
	}
}
