package edges_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
)

// steps are the operators that change lists of tensors, with numbers of attributes.
var steps = []struct {
	name  string
	lists int // of which the last is the gradients
	run   func(l [][]*core.Tensor) error
}{
	{"sgd", 2, func(l [][]*core.Tensor) error { return ops.SGDStep(l[0], l[1], 0.5, 2) }},
	{"momentum", 3, func(l [][]*core.Tensor) error { return ops.SGDMomentumStep(l[0], l[2], l[1], 2, 0.5, 0.25, 1, false) }},
	{"nesterov", 3, func(l [][]*core.Tensor) error { return ops.SGDMomentumStep(l[0], l[2], l[1], 1, 0.5, 1, 0, true) }},
	{"adam", 4, func(l [][]*core.Tensor) error {
		return ops.AdamStep(l[0], l[3], l[1], l[2], 3, 0.5, 0.75, 0.25, 1, 2, 0.5)
	}},
}

// stepDevices are those whose results are held against each other.
var stepDevices = []device.Device{device.CPU, device.Sim(0)}

// TestSteps takes steps worked out by hand, of two tensors each.
func TestSteps(t *testing.T) {
	tests := map[string]struct{ before, want [][]float64 }{
		// p -= 0.5*(g + 2p)
		"sgd": {[][]float64{{1, -3}, {4}, {2, 8}, {-6}}, [][]float64{{-1, -4}, {3}}},
		// v = 0.5v + 0.25*(g + p), p -= 2v
		"momentum": {[][]float64{{1, 2}, {3}, {4, -2}, {6}, {3, 6}, {1}}, [][]float64{{-5, 0}, {-5}, {3, 1}, {4}}},
		// v = 0.5v + g, p -= g + 0.5v
		"nesterov": {[][]float64{{1, 2}, {3}, {4, -2}, {6}, {2, 3}, {1}}, [][]float64{{-3, -2}, {0}, {4, 2}, {4}}},
		// d = g + 2p; m = 0.5m + 0.5d, v = 0.75v + 0.25d*d, p = 0.5p - 3m/(sqrt(v) + 1)
		"adam": {[][]float64{{1, 0}, {2}, {0, 2}, {4}, {0, 12}, {16}, {2, 0}, {-4}}, [][]float64{{-1.5, -0.75}, {1 - 6/(math.Sqrt(12)+1)}, {2, 1}, {2}, {4, 9}, {12}}},
	}
	for _, s := range steps {
		tt := tests[s.name]
		for _, dev := range stepDevices {
			for _, dt := range ir.ClassFloat.List() {
				lists := make([][]*core.Tensor, s.lists)
				for i, v := range tt.before {
					lists[i/2] = append(lists[i/2], tensor.From(v).ToType(dt).To(dev).Handle())
				}
				if err := s.run(lists); err != nil {
					t.Fatalf("%s %s %s: %v", s.name, dev, dt, err)
				}
				tolerance := map[ir.DType]float64{ir.Float16: 0x1p-10, ir.BFloat16: 0x1p-7, ir.Float32: 0x1p-23, ir.Float64: 1e-15}[dt]
				for i, want := range tt.want {
					got, err := tensor.Data[float64](tensor.Wrap(lists[i/2][i%2]).ToType(tensor.Float64))
					if diff := cmp.Diff(want, got, cmpopts.EquateApprox(tolerance, 0)); err != nil || diff != "" {
						t.Errorf("%s %s %s: list %d, tensor %d: %v (-want +got):\n%s", s.name, dev, dt, i/2, i%2, err, diff)
					}
				}
			}
		}
	}
}

// TestStepsOfManyTensors holds the CPU against the reference's wide arithmetic: 20
// tensors of all sizes and layouts, some of whose gradients have no axes.
func TestStepsOfManyTensors(t *testing.T) {
	shapes := [][]int{{3}, {5, 4}, {0, 2}, {2, 3, 4}, {}, {300}, {6, 2}, {12, 33}}
	for n, s := range steps {
		for m, dt := range ir.ClassFloat.List() {
			if brief.Skip(n, m) { // each step in one of them
				continue
			}
			rng := rand.New(rand.NewPCG(7, uint64(dt)))
			all := make([][][]*core.Tensor, len(stepDevices))
			for d := range all {
				all[d] = make([][]*core.Tensor, s.lists)
			}
			for k := range 20 {
				shape, transposed := shapes[k%len(shapes)], rng.IntN(3) == 0
				if k == 7 && dt == ir.Float32 && !testing.Short() { // large enough for several workers
					shape = []int{130, 140}
				}
				for i := range s.lists {
					sized := shape
					if i == s.lists-1 && k%9 == 0 {
						sized = nil // one gradient for all elements
					}
					values := make([]float64, ir.NumElements(sized))
					for j := range values {
						values[j] = rng.Float64() // second moments are not negative
					}
					for d, dev := range stepDevices {
						x := tensor.From(values).Reshape(sized...).ToType(dt).To(dev)
						if transposed && len(sized) == 2 {
							x = x.Transpose(0, 1).Contiguous().Transpose(0, 1)
						}
						all[d][i] = append(all[d][i], x.Handle())
					}
				}
			}
			for d := range all {
				if err := s.run(all[d]); err != nil {
					t.Fatalf("%s %s %s: %v", s.name, stepDevices[d], dt, err)
				}
			}
			bound := map[ir.DType]float64{ir.Float16: 0x1p-9, ir.BFloat16: 0x1p-6, ir.Float32: 0x1p-20, ir.Float64: 0x1p-48}[dt]
			for i := range s.lists {
				for k := range all[0][i] {
					what := fmt.Sprintf("%s %s: list %d, tensor %d", s.name, dt, i, k)
					got, err := tensor.Data[float64](tensor.Wrap(all[0][i][k]).ToType(tensor.Float64))
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					want, err := tensor.Data[float64](tensor.Wrap(all[1][i][k]).ToType(tensor.Float64))
					if diff := cmp.Diff(want, got, cmpopts.EquateApprox(bound, bound)); err != nil || diff != "" {
						t.Fatalf("%s: %v (-reference +cpu):\n%s", what, err, diff)
					}
				}
			}
		}
	}
}

// TestStepsOfNarrowGradients holds steps by gradients of 16 bits against those by the float32
// numbers that they stand for, to the bit, and has gradients of other dtypes refused.
func TestStepsOfNarrowGradients(t *testing.T) {
	shapes := [][]int{{3}, {5, 4}, {0, 2}, {}, {130, 140}, {2, 3, 4}}
	for _, s := range steps {
		for _, dev := range stepDevices {
			for _, narrow := range ir.Narrow() {
				rng := rand.New(rand.NewPCG(7, uint64(narrow)))
				var all [2][][]*core.Tensor // by gradients as they are, and converted
				for way := range all {
					all[way] = make([][]*core.Tensor, s.lists)
				}
				for k := range 9 {
					shape := shapes[k%len(shapes)]
					if k == 4 && testing.Short() { // else large enough for several workers
						shape = []int{13, 14}
					}
					for i := range s.lists {
						values := make([]float64, ir.NumElements(shape))
						for j := range values {
							values[j] = rng.Float64()
						}
						x := tensor.From(values).Reshape(shape...).ToType(ir.Float32).To(dev)
						if len(shape) == 2 && k%2 == 0 {
							x = x.Transpose(0, 1).Contiguous().Transpose(0, 1)
						}
						ways := [2]tensor.Tensor{x, x.Clone()}
						if i == s.lists-1 {
							ways[0] = x.ToType(narrow)
							ways[1] = ways[0].ToType(ir.Float32)
						}
						for way, x := range ways {
							all[way][i] = append(all[way][i], x.Handle())
						}
					}
				}
				what := fmt.Sprintf("%s %s %s", s.name, dev, narrow)
				for way := range all {
					if err := s.run(all[way]); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
				}
				for i := range s.lists - 1 {
					for k := range all[0][i] {
						got, err := tensor.Data[float32](tensor.Wrap(all[0][i][k]))
						want, e := tensor.Data[float32](tensor.Wrap(all[1][i][k]))
						if err != nil || e != nil || !slices.Equal(want, got) {
							t.Fatalf("%s: list %d, tensor %d: %v, %v (-want +got):\n%s", what, i, k, err, e, cmp.Diff(want, got))
						}
					}
				}
			}
			for text, d := range map[string][3]ir.DType{
				"it must be float64, not bfloat16":                           {ir.Float64, ir.BFloat16, ir.BFloat16},
				"it must be float16, not bfloat16":                           {ir.Float16, ir.BFloat16, ir.BFloat16},
				"it must be float32, not float64":                            {ir.Float32, ir.Float64, ir.Float64},
				"grads 1: invalid dtype: it is float16, others are bfloat16": {ir.Float32, ir.BFloat16, ir.Float16},
			} {
				lists := make([][]*core.Tensor, s.lists)
				for i := range lists {
					for k := range 2 {
						dt := d[0]
						if i == s.lists-1 {
							dt = d[1+k]
						}
						lists[i] = append(lists[i], tensor.Ones([]int{2}, tensor.OfType(dt), tensor.On(dev)).Handle())
					}
				}
				if err := s.run(lists); !errors.Is(err, tensor.ErrDType) || !strings.Contains(err.Error(), text) {
					t.Errorf("%s %s: %v; want %q", s.name, dev, err, text)
				}
			}
		}
	}
}

// TestStepsOfTwo holds steps by the mean of two gradients against those by the mean in float32, on the
// CPU to the bit; simulated devices round a whole operator once. Elements are so far apart that the mean
// is rounded in some.
func TestStepsOfTwo(t *testing.T) {
	type lists = [][]*core.Tensor
	for name, s := range map[string]struct {
		kept      int
		two, step func(p, g, o []*core.Tensor, k lists) error
	}{
		"sgd": {0, func(p, g, o []*core.Tensor, _ lists) error { return ops.SGDStepTwo(p, g, o, 0.5, 2) },
			func(p, g, _ []*core.Tensor, _ lists) error { return ops.SGDStep(p, g, 0.5, 2) }},
		"momentum": {1, func(p, g, o []*core.Tensor, k lists) error {
			return ops.SGDMomentumStepTwo(p, g, o, k[0], 2, 0.5, 0.25, 1, false)
		}, func(p, g, _ []*core.Tensor, k lists) error {
			return ops.SGDMomentumStep(p, g, k[0], 2, 0.5, 0.25, 1, false)
		}},
		"nesterov": {1, func(p, g, o []*core.Tensor, k lists) error {
			return ops.SGDMomentumStepTwo(p, g, o, k[0], 1, 0.5, 1, 0, true)
		}, func(p, g, _ []*core.Tensor, k lists) error {
			return ops.SGDMomentumStep(p, g, k[0], 1, 0.5, 1, 0, true)
		}},
		"adam": {2, func(p, g, o []*core.Tensor, k lists) error {
			return ops.AdamStepTwo(p, g, o, k[0], k[1], 3, 0.5, 0.75, 0.25, 1, 2, 0.5)
		}, func(p, g, _ []*core.Tensor, k lists) error {
			return ops.AdamStep(p, g, k[0], k[1], 3, 0.5, 0.75, 0.25, 1, 2, 0.5)
		}},
		"added": {0, func(p, g, o []*core.Tensor, _ lists) error { return ops.MeanOfTwo(p, g, o, true) },
			func(p, g, _ []*core.Tensor, _ lists) error { return ops.SGDStep(p, g, -1, 0) }},
	} {
		for _, dev := range stepDevices {
			for _, narrow := range ir.Narrow() {
				rng := rand.New(rand.NewPCG(3, uint64(narrow)))
				var at [2]lists // of steps by two, and by their mean: parameters, what is kept, gradients, others
				for _, shape := range [][]int{{3}, {5, 4}, {0, 2}, {}, {13, 14}} {
					for i := range s.kept + 3 {
						x := tensor.FromSlice(drawn(rng, ir.NumElements(shape)), shape).To(dev)
						if i > s.kept {
							x = x.ToType(narrow)
						}
						for way := range at {
							if at[way] == nil {
								at[way] = make(lists, s.kept+3)
							}
							at[way][i] = append(at[way][i], x.Clone().Handle())
						}
					}
				}
				two, by := at[0], at[1]
				what := fmt.Sprintf("%s %s %s", name, dev, narrow)
				var means []*core.Tensor
				for k := range by[0] {
					a, b := tensor.Wrap(by[s.kept+1][k]).ToType(ir.Float32), tensor.Wrap(by[s.kept+2][k]).ToType(ir.Float32)
					means = append(means, a.MulScalar(0.5).Add(b.MulScalar(0.5)).Handle())
				}
				if err := errors.Join(s.two(two[0], two[s.kept+1], two[s.kept+2], two[1:1+s.kept]), s.step(by[0], means, nil, by[1:1+s.kept])); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				alike := cmp.Options{}
				if dev != device.CPU {
					alike = append(alike, cmpopts.EquateApprox(0x1p-20, 0x1p-20))
				}
				for i := range s.kept + 1 {
					for k := range two[i] {
						got, err := tensor.Data[float32](tensor.Wrap(two[i][k]))
						want, e := tensor.Data[float32](tensor.Wrap(by[i][k]))
						if diff := cmp.Diff(want, got, alike); err != nil || e != nil || diff != "" {
							t.Fatalf("%s: list %d, tensor %d: %v, %v (-want +got):\n%s", what, i, k, err, e, diff)
						}
					}
				}
			}
		}
	}
}

// drawn returns positive numbers of many magnitudes.
func drawn(rng *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(math.Ldexp(1+rng.Float64(), rng.IntN(16)-14))
	}
	return out
}
