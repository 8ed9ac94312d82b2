package optest

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend/ref"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// oracle is the simulated device whose kernels are the reference interpreter.
var oracle = device.Sim(0)

// engine is what gradients need, taken from the public operators.
var engine = core.Operators{
	Add:      func(x, y *core.Tensor) *core.Tensor { return tensor.Wrap(x).Add(tensor.Wrap(y)).Handle() },
	OnesLike: func(x *core.Tensor) *core.Tensor { return tensor.OnesLike(tensor.Wrap(x)).Handle() },
	Clone:    core.Copy,
}

// Run checks every operator of the table on the CPU. Each is compared with the
// reference interpreter for every dtype, shape class and layout it takes, with
// its literal cases, and its gradients with central differences.
func Run(t *testing.T, table []Operator) { RunOn(t, table, device.CPU) }

// RunOn is Run with the operators under test on dev. The bounds are those of the
// dtypes, so the flags that allow less, which are the process's, are off until t has ended.
// Hidden operators that compositions take on other devices alone are skipped.
func RunOn(t *testing.T, table []Operator, dev device.Device, opts ...Option) {
	setTF32(t, false)
	exactHalves(t)
	percent := debug.SetGCPercent(400) // little is alive and much is made
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	for i := range table {
		o := &table[i]
		t.Run(o.Op.Name, func(t *testing.T) {
			if !o.RunsOn(dev.Kind) && o.Op.Tags&ir.TagHidden != 0 {
				t.Skipf("has no kernel on %s", dev.Kind)
			}
			t.Parallel()
			for _, err := range Check(o, dev, append(opts[:len(opts):len(opts)], quickly(testing.Short()))...) {
				t.Errorf("%s: %v", o.where(), err)
			}
		})
	}
}

// An Option changes what Check and RunOn do.
type Option func(*runner)

// WithoutDifferences leaves central differences out, which take most of the
// launches: gradients are computed in both ways and compared with each other. It is
// for runs under tools that watch every access to memory.
func WithoutDifferences() Option { return func(r *runner) { r.noDifferences = true } }

// WithoutReference leaves out what compares with the reference, gradients among it. It is
// for operators that look at their results themselves.
func WithoutReference() Option { return func(r *runner) { r.noReference = true } }

// quickly has each sample run in one layout beside the contiguous one, in turn, and
// large samples in a part of the dtypes.
func quickly(on bool) Option { return func(r *runner) { r.quick = on } }

// Check checks one operator on dev as Run does and returns the mistakes it finds.
func Check(o *Operator, dev device.Device, opts ...Option) (errs []error) {
	installOracle()
	r := runner{o: o, dev: dev}
	for _, set := range opts {
		set(&r)
	}
	for _, part := range []struct {
		name      string
		run       func() []error
		reference bool // there is nothing without the reference
	}{
		{"case", r.cases, false}, {"values", r.values, false}, {"positions", r.positions, false},
		{"gradient", r.gradients, true}, {"16 bits", r.halves, true}, {"dtypes", r.refusals, false},
		{"arguments", r.requirements, false},
	} {
		if part.reference && r.noReference {
			continue
		}
		for _, err := range part.run() {
			errs = append(errs, fmt.Errorf("%s: %w", part.name, err))
		}
	}
	return errs
}

// Reference says by which functions the reference runs opaque operators that are not the
// standard ones.
func Reference(kernels map[*ir.Op]ir.KernelFunc) { ref.Provide(kernels) }

// installOracle installs the simulated device where the program has none yet.
var installOracle = sync.OnceFunc(func() {
	if _, err := device.DriverOf(device.KindSim); err != nil {
		device.Install(sim.New(sim.Config{Devices: 1}))
	}
})

// runner checks one operator on one device.
type runner struct {
	o             *Operator
	dev           device.Device
	noDifferences bool
	noReference   bool
	quick         bool     // a sample has one layout beside the contiguous one, and large ones some dtypes
	position      ir.DType // of operands that name places; Invalid for what they are loaded as
}

// A trial is one application to check: shapes, attributes and dtype.
type trial struct {
	sample Sample
	dtype  ir.DType
	layout layoutKind
}

func (tr trial) String() string {
	return fmt.Sprintf("%s %v %s", tr.dtype, tr.sample.Shapes, tr.layout)
}

// errRefused reports that the operator accepts a trial's operands on no device.
// What is refused has its own tests.
var errRefused = errors.New("no sample could be run")

// values compares the operator with the reference. Every dtype must have run with
// at least one sample, and every sample of the schema with one dtype; only a rule
// about layouts that has none may refuse all.
func (r runner) values() (errs []error) {
	samples := r.samples()
	taken := make([]bool, len(samples))
	for _, dt := range r.inTurn() {
		ran := false
		for i, s := range samples {
			if r.quick && ran && sampleSize(s) > quickLayouts && (i+len(r.o.Op.Name))%4 != 0 {
				taken[i] = true // the run of all has it
				continue
			}
			if len(r.o.Samples) == 0 && r.leftOut(i, sampleSize(s), dt) || r.quick && ran && taken[i] && (sampleSize(s) > quickSize || (i+int(dt))%4 != 0) {
				continue
			}
			for layout := range numLayouts + 1 {
				if r.redundant(i, s, layout) {
					continue
				}
				tr := trial{s, dt, layout}
				switch err := r.compare(tr, false); {
				case err == nil:
					ran, taken[i] = true, true
				case !errors.Is(err, errRefused):
					errs = append(errs, fmt.Errorf("%s: %w", tr, err))
				}
			}
		}
		if err := r.specialValues(dt); err != nil {
			errs = append(errs, fmt.Errorf("%s special values: %w", dt, err))
		}
		if !ran && len(errs) == 0 && len(samples) > 0 && !r.mayRefuse() {
			errs = append(errs, fmt.Errorf("%s: %w", dt, errRefused))
		}
		if len(errs) > 0 {
			return errs // one dtype's failures are enough to read
		}
	}
	if i := slices.Index(taken, false); i >= 0 && len(r.o.Samples) > 0 {
		errs = append(errs, fmt.Errorf("sample %v: %w", samples[i].Shapes, errRefused))
	}
	return errs
}

// quickSize is how many elements a sample of the schema may have that a quick run tries in
// more than the first dtype that takes it and those that take no smaller one: then in a quarter of them.
const quickSize = 150

// quickLayouts is how many elements a sample may have that a quick run tries in more than one layout:
// larger ones are contiguous or transposed, in turn, and one in four of them is tried at all.
const quickLayouts = 10_000

// inTurn returns the operator's dtypes: each operator's quick run begins with another.
func (r runner) inTurn() []ir.DType {
	list := r.o.Op.DTypes.List()
	if !r.quick || len(list) == 0 {
		return list
	}
	first := len(r.o.Op.Name) % len(list)
	return slices.Concat(list[first:], list[:first])
}

// specialValues tries all combinations of special values of an element-wise operator.
func (r runner) specialValues(dt ir.DType) error {
	if r.o.Op.Kind != ir.Elementwise || len(r.o.Samples) > 0 || len(r.o.Op.In) == 0 {
		return nil
	}
	special, n := r.specialTrial(dt), 1
	for i, shape := range special.sample.Shapes {
		n *= shape[i]
	}
	if r.leftOut(0, n, dt) {
		return nil
	}
	return r.compare(special, true)
}

// leftOut reports whether a quick run leaves sample i, of n elements, to other dtypes:
// the more elements it has, the fewer dtypes it is tried in.
func (r runner) leftOut(i, n int, dt ir.DType) bool {
	turn := i + int(dt) + len(r.o.Op.Name)
	switch {
	case !r.quick:
		return false
	case n > 500:
		return turn%48 != 0
	case n > 60:
		return turn%24 != 0
	case n > 8:
		return turn%6 != 0
	}
	return false
}

func (r runner) mayRefuse() bool { return r.o.Op.Kind == ir.ViewBody && len(r.o.Samples) == 0 }

// redundant reports whether a layout adds nothing to sample i: of an operand of
// fewer than two axes transposed is contiguous, and of generic shapes the larger
// ones differ in no axis from those before.
func (r runner) redundant(i int, s Sample, layout layoutKind) bool {
	if r.quick && sampleSize(s) > quickLayouts {
		return layout != []layoutKind{contiguous, transposed}[(i+len(r.o.Op.Name))%2]
	}
	if layout == contiguous {
		return false
	}
	if r.quick && layout != contiguous+1+layoutKind(i)%numLayouts {
		return true
	}
	if layout == unaligned {
		return r.dev != device.CPU || r.o.Op.Tags&(ir.TagWrites|ir.TagUpdates) != 0
	}
	if len(r.o.Samples) == 0 && i > 6 || layout == expanded && r.o.Op.Kind != ir.Elementwise {
		return true
	}
	return layout == transposed && !slices.ContainsFunc(s.Shapes, func(shape []int) bool { return len(shape) > 1 })
}

// shapeClasses are the shapes that element-wise operators, reductions and scans
// are tested with when their entry gives no samples.
var shapeClasses = [][]int{{}, {0}, {1}, {5}, {2, 3}, {4, 1, 3}, {2, 3, 2, 2}, {31}, {33}, {257}, {1025}, {3, 0, 2}, {17, 65}}

// broadcasts are the shapes of a further operand beside the classes of the others.
var broadcasts = [][]int{{2}, {1}, {4}, {1}, {3}, {2, 1}, {3, 1, 2}, {1}, {2, 1}, {}, {1}, {2}, {17, 1}}

// samples returns the shapes and attributes to test with.
func (r runner) samples() []Sample {
	if len(r.o.Samples) > 0 {
		return r.o.Samples
	}
	var out []Sample
	operands := len(r.o.Op.In)
	for i, shape := range shapeClasses {
		if operands == 0 {
			break
		}
		shapes := slices.Repeat([][]int{shape}, operands)
		out = append(out, Sample{Shapes: shapes, Attrs: r.o.Defaults})
		if operands > 1 && r.o.Op.Kind == ir.Elementwise {
			mixed := slices.Clone(shapes)
			mixed[1+i%(operands-1)] = broadcasts[i]
			out = append(out, Sample{Shapes: mixed, Attrs: r.o.Defaults})
		}
	}
	return r.variants(r.reduced(out))
}

// variants adds a sample for every other value of the operator's enums and
// bools, on one shape.
func (r runner) variants(in []Sample) []Sample {
	if len(in) < 5 {
		return in
	}
	for i, a := range r.o.Op.Attrs {
		n := 0
		switch a.Kind {
		case ir.AttrEnum:
			n = len(a.Enum)
		case ir.AttrBool:
			n = 2
		}
		for v := range n {
			s := in[4]
			s.Attrs = slices.Clone(s.Attrs)
			s.Attrs[i] = ir.IntValue(v)
			in = append(in, s)
		}
	}
	return in
}

// reduced adds axes and kept dimensions to reductions, and axes to scans.
func (r runner) reduced(in []Sample) []Sample {
	dim := slices.IndexFunc(r.o.Op.Attrs, func(a ir.Attr) bool { return a.Name == "dim" })
	if dim < 0 || (r.o.Op.Kind != ir.Reduction && r.o.Op.Kind != ir.Scan) {
		return in
	}
	out := in
	if r.o.Op.Kind == ir.Reduction && r.o.Op.EmptyFail {
		out = slices.DeleteFunc(slices.Clone(in), func(s Sample) bool { return ir.NumElements(s.Shapes[0]) == 0 })
		in = out
	}
	for _, s := range in {
		for axis := range s.Shapes[0] {
			if r.o.Op.EmptyFail && s.Shapes[0][axis] == 0 {
				continue
			}
			v := s
			v.Attrs = slices.Clone(s.Attrs)
			v.Attrs[dim] = ir.Value{Int: int64(axis), Ints: []int{axis}}
			if axis > 0 {
				v.Attrs[dim] = ir.Value{Int: int64(axis - len(s.Shapes[0])), Ints: []int{0, axis}}
			}
			out = append(out, v)
		}
	}
	return out
}

// specialTrial pairs every special value of a dtype with every other.
func (r runner) specialTrial(dt ir.DType) trial {
	shapes := make([][]int, len(r.o.Op.In))
	for i := range shapes {
		shapes[i] = make([]int, len(shapes))
		for a := range shapes[i] {
			shapes[i][a] = 1
		}
		shapes[i][i] = len(r.specials(i, dt))
	}
	return trial{Sample{Shapes: shapes, Attrs: r.o.Defaults}, dt, contiguous}
}
