package optest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// readable is how many elements of a result are compared: each takes some 50 bytes then.
const readable = 1 << 20

// RunRandom makes random calls of the operators of the table on the CPU, n from call first on, and holds
// each against the reference: shapes, dtypes, layouts of each operand and arguments are the
// samples' and others, at the edges of what is accepted and beyond. No call panics, none
// hangs; the CPU refuses what the reference refuses; operands are as they were, all of what
// their storage holds; forms that write give the bits of the plain form and nothing else, or
// fail and leave everything alone. A seed makes the same calls in every run. A call that has
// not returned after hang counts as one that never does.
func RunRandom(t *testing.T, table []Operator, seed uint64, first, n int, hang time.Duration) {
	setTF32(t, false)
	exactHalves(t)
	before, _ := device.DriverOf(device.KindSim)
	t.Cleanup(func() { device.Install(before) })
	device.Install(sim.New(sim.Config{Devices: 1, Memory: 1 << 28}))
	table = slices.DeleteFunc(slices.Clone(table), func(o Operator) bool {
		return !o.RunsOn(device.KindCPU) || o.Call == nil || o.Op.Tags&(ir.TagNondeterministic|ir.TagHidden) != 0
	})
	for i := first; i < first+n; i++ {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		c := randomCall{runner: runner{o: &table[r.IntN(len(table))], dev: device.CPU}, r: r}
		watch := time.AfterFunc(hang, func() { panic(fmt.Sprintf("seed %d, call %d does not return: %s", seed, i, &c)) })
		core.InScope(func(*core.Scope) {
			if err := c.run(int64(i)); err != nil {
				t.Errorf("seed %d, call %d: %s: %v", seed, i, &c, err)
			}
		})
		watch.Stop()
	}
}

// A randomCall is an operator with what it is called with.
type randomCall struct {
	runner
	r        *rand.Rand
	sample   Sample
	dtype    ir.DType
	operands []randomOperand
	special  bool
}

// A randomOperand is a tensor in a storage, or none.
type randomOperand struct {
	shape  []int
	dtype  ir.DType
	layout layoutKind
	values []ir.Scalar
	gone   gone
}

// gone is why an operand is no tensor.
type gone int

const (
	present gone = iota
	absent       // nil
	released
)

func (c *randomCall) String() string {
	text := c.o.Op.Name + "("
	for i, x := range c.operands {
		text += fmt.Sprintf("%s %v %s%s, ", x.dtype, x.shape, x.layout, [...]string{"", " nil", " released"}[x.gone])
		if len(x.values) <= 4 {
			text += fmt.Sprintf("= %v, ", x.values)
		}
		if i > 5 {
			text += "..., "
			break
		}
	}
	for i, a := range c.o.Op.Attrs {
		text += fmt.Sprintf("%s: %s, ", a.Name, showValue(a.Kind, c.sample.Attrs[i]))
	}
	return text + fmt.Sprintf("dtype %s)", c.dtype)
}

func showValue(kind ir.AttrKind, v ir.Value) string {
	switch kind {
	case ir.AttrInts:
		return fmt.Sprint(v.Ints)
	case ir.AttrFloat, ir.AttrScalar:
		return fmt.Sprint(v.Scalar)
	case ir.AttrString:
		return fmt.Sprintf("%q", v.Str)
	}
	return fmt.Sprint(v.Int)
}

// run draws a call and makes it.
func (c *randomCall) run(seed int64) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	if !c.choose() {
		return nil
	}
	in, stores, err := c.place(c.dev, false)
	if err != nil {
		return err
	}
	before, err := contents(stores)
	if err != nil {
		return err
	}
	got := c.apply(seed, in, c.dev)
	if err := c.untouched(stores, before); err != nil {
		return fmt.Errorf("an operand changed: %w", err)
	}
	if slices.ContainsFunc(c.operands, func(x randomOperand) bool { return x.gone != present }) {
		return nil // and has not panicked
	}
	if err := c.reference(seed, got); err != nil {
		return err
	}
	if len(got) != 1 {
		return nil
	}
	if err := c.inPlace(seed, got[0]); err != nil {
		return fmt.Errorf("in-place form: %w", err)
	}
	if err := c.out(seed, got[0]); err != nil {
		return fmt.Errorf("out form: %w", err)
	}
	return nil
}

// reference compares with what the oracle gives.
func (c *randomCall) reference(seed int64, got []*core.Tensor) error {
	narrow, _, err := c.place(oracle, false)
	if err != nil {
		return err
	}
	want := c.apply(seed, narrow, oracle)
	failed, refused := core.FirstError(got...), core.FirstError(want...)
	switch {
	case failed != nil && refused != nil:
		return nil
	case failed != nil && errors.Is(failed.Err(), device.ErrOutOfMemory) || refused != nil && errors.Is(refused.Err(), device.ErrOutOfMemory):
		return nil // one device has more than the other
	case failed != nil:
		return fmt.Errorf("refused, the reference takes it: %w", failed.Err())
	case refused != nil:
		return fmt.Errorf("taken, the reference says %w", refused.Err())
	case len(got) != len(want):
		return fmt.Errorf("%d results, the reference has %d", len(got), len(want))
	}
	wide := c.wide()
	if wide {
		in, _, err := c.place(oracle, true)
		if err != nil {
			return err
		}
		if want = c.apply(seed, in, oracle); core.FirstError(want...) != nil {
			return nil // the widest dtypes of some operands do not go together
		}
	}
	for i := range got {
		if ir.NumElements(got[i].Shape()) > readable {
			continue
		}
		if err := c.agree(got[i], want[i], wide); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	return nil
}

// agree compares one result. The bounds of entries are those of their own samples: these are wider.
func (c *randomCall) agree(got, want *core.Tensor, wide bool) error {
	if !slices.Equal(got.Shape(), want.Shape()) || !wide && got.DType() != want.DType() {
		return fmt.Errorf("%s %v, want %s %v", got.DType(), got.Shape(), want.DType(), want.Shape())
	}
	g, err := core.Scalars(got)
	if err != nil {
		return err
	}
	w, err := core.Scalars(want)
	if err != nil {
		return err
	}
	least := got.DType() // of what the operands were rounded to
	for _, x := range c.operands {
		if least.Differentiable() && x.dtype.Differentiable() && Epsilon(x.dtype) > Epsilon(least) {
			least = x.dtype
		}
	}
	for i := range w { // what the dtype of the result does not hold, nor what a formula comes to on its way there
		v, most := w[i].Float(), largest(got.DType())
		if c.o.Op.Kind == ir.Elementwise && i < len(g) && math.IsInf(g[i].Float(), 0) && math.Signbit(g[i].Float()) == math.Signbit(v) {
			most = math.Sqrt(most)
		}
		if got.DType().IsFloat() && math.Abs(v) > most {
			w[i] = ir.FloatScalar(math.Copysign(math.Inf(1), v))
		}
	}
	return Agree(g, w, least)
}

func (c *randomCall) apply(seed int64, in []*core.Tensor, dev device.Device) (out []*core.Tensor) {
	_ = random.With(random.New(seed), func() error { out = c.o.Call(c.args(c.trial(), in, dev)); return nil })
	errorsOf(out) // of each: nobody looks at all of them
	return out
}

func (c *randomCall) trial() trial { return trial{c.sample, c.dtype, contiguous} }

// inPlace makes the in-place form of the call.
func (c *randomCall) inPlace(seed int64, plain *core.Tensor) error {
	if c.o.InPlace == nil || len(c.operands) == 0 {
		return nil
	}
	in, stores, err := c.place(c.dev, false)
	if err != nil {
		return err
	}
	before, err := contents(stores)
	if err != nil {
		return err
	}
	var failed error
	_ = random.With(random.New(seed), func() error { failed = c.o.InPlace(c.args(c.trial(), in, c.dev)); return nil })
	_ = in[0].Err() // which is the same error
	first := c.operands[0]
	if failed != nil {
		return unchanged(stores, before)
	}
	if err := unchanged(stores[1:], before[1:]); err != nil {
		return fmt.Errorf("another operand changed: %w", err)
	}
	if first.layout == expanded && len(first.shape) > 0 && first.shape[0] > 1 && ir.NumElements(first.shape) > 0 {
		return errors.New("elements that share memory are written")
	}
	return c.wrote(in[0], stores[0], before[0], first, plain)
}

// wrote checks that a tensor in a storage has the elements of plain and that nothing beside
// them changed.
func (c *randomCall) wrote(t, store *core.Tensor, before []byte, x randomOperand, plain *core.Tensor) error {
	if plain.Err() != nil {
		return fmt.Errorf("it is taken, the plain form says %w", plain.Err())
	}
	if plain.DType() == t.DType() {
		if err := sameBits(t, plain); err != nil {
			return err
		}
	}
	after, err := core.Bytes(store)
	if err != nil {
		return err
	}
	l, _ := x.layout.place(x.shape)
	size, index := x.dtype.Size(), make([]int, len(x.shape))
	mine := make([]bool, len(after)/size)
	for range ir.NumElements(x.shape) {
		at := l.Offset
		for a, i := range index {
			at += i * l.Strides[a]
		}
		mine[at] = true
		advance(index, x.shape)
	}
	for i, m := range mine {
		if !m && !bytes.Equal(before[i*size:(i+1)*size], after[i*size:(i+1)*size]) {
			return fmt.Errorf("element %d of the storage changed, which is not the tensor's", i)
		}
	}
	return nil
}

// out makes the form that writes to a tensor: of the shape and dtype of the result, or of others.
func (c *randomCall) out(seed int64, plain *core.Tensor) error {
	if c.o.Out == nil || ir.NumElements(plain.Shape()) > readable || slices.ContainsFunc(plain.Shape(), func(d int) bool { return d > readable }) {
		return nil
	}
	in, stores, err := c.place(c.dev, false)
	if err != nil {
		return err
	}
	x := randomOperand{shape: []int{2, 3}, dtype: c.dtype, layout: layoutKind(c.r.IntN(int(numLayouts)))}
	if plain.Err() == nil {
		x.shape, x.dtype = plain.Shape(), plain.DType()
	}
	if c.r.IntN(8) == 0 {
		x.dtype = c.anyDType()
	}
	if c.r.IntN(8) == 0 {
		x.shape = c.otherShape(x.shape)
	}
	x.values = c.draw(0, x.shape, x.dtype, x.layout)
	dst, store, err := x.place(c.dev, false)
	if err != nil {
		return err
	}
	stores = append(stores, store)
	before, err := contents(stores)
	if err != nil {
		return err
	}
	var failed error
	_ = random.With(random.New(seed), func() error { failed = c.o.Out(dst, c.args(c.trial(), in, c.dev)); return nil })
	_ = dst.Err()
	if failed != nil {
		return c.untouched(stores, before)
	}
	last := len(stores) - 1
	if err := c.untouched(stores[:last], before[:last]); err != nil {
		return fmt.Errorf("an operand changed: %w", err)
	}
	return c.wrote(dst, store, before[last], x, plain)
}

// place makes the operands on a device, and returns the storages that they lie in.
func (c *randomCall) place(dev device.Device, wide bool) (in, stores []*core.Tensor, err error) {
	in = make([]*core.Tensor, max(len(c.operands), len(c.o.Op.In)))
	for i, x := range c.operands {
		t, store, err := x.place(dev, wide)
		if err != nil {
			return nil, nil, err
		}
		stores = append(stores, store)
		switch x.gone {
		case absent:
			t = nil
		case released:
			core.InScope(func(*core.Scope) { t = core.Copy(t) })
		}
		in[i] = t
	}
	return in, stores, nil
}

func (x randomOperand) place(dev device.Device, wide bool) (t, store *core.Tensor, err error) {
	dt, values := x.dtype, x.values
	if wide && dt != widen(dt) {
		t, _, err := buildIn(values, x.shape, dt, x.layout, device.CPU)
		if err != nil {
			return nil, nil, err
		}
		if values, err = core.Scalars(t); err != nil {
			return nil, nil, err
		}
		dt = widen(dt)
	}
	return buildIn(values, x.shape, dt, x.layout, dev)
}

func contents(stores []*core.Tensor) (out [][]byte, err error) {
	for _, s := range stores {
		b, err := core.Bytes(s)
		if err != nil {
			return nil, err
		}
		out = append(out, bytes.Clone(b))
	}
	return out, nil
}

// untouched is unchanged where the operator, by its documentation, writes to no operand.
func (c *randomCall) untouched(stores []*core.Tensor, before [][]byte) error {
	if c.o.Op.Tags&ir.TagWrites != 0 {
		return nil
	}
	return unchanged(stores, before)
}

func unchanged(stores []*core.Tensor, before [][]byte) error {
	for i, s := range stores {
		b, err := core.Bytes(s)
		if err != nil {
			return err
		}
		if !bytes.Equal(b, before[i]) {
			return fmt.Errorf("storage %d is another", i)
		}
	}
	return nil
}

// The numbers that arguments are made of.
var (
	edgeInts   = []int64{0, 0, 1, 1, -1, 2, -2, 3, 5, math.MaxInt64, math.MinInt64, 1 << 40}
	edgeFloats = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2, 3.5, 1e-3, math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30}
	edgeSizes  = []int{0, 1, 1, 2, 3, 7, 33}
)

// choose draws what the operator is called with; it is false where there is nothing to draw from.
func (c *randomCall) choose() bool {
	samples := c.samples()
	if len(samples) == 0 {
		return false
	}
	c.sample = samples[c.r.IntN(len(samples))]
	c.sample.Attrs, c.sample.Shapes = slices.Clone(c.sample.Attrs), slices.Clone(c.sample.Shapes)
	c.dtype = c.anyDType()
	if list := c.o.Op.DTypes.List(); len(list) > 0 && c.r.IntN(12) > 0 {
		c.dtype = list[c.r.IntN(len(list))]
	}
	for i, a := range c.o.Op.Attrs {
		if i < len(c.sample.Attrs) && c.r.IntN(4) == 0 && a.Draws == ir.DrawsNothing {
			c.sample.Attrs[i] = c.argument(a, c.sample.Attrs[i])
		}
	}
	c.special = c.o.Op.Kind == ir.Elementwise && c.r.IntN(3) == 0
	for i, shape := range c.sample.Shapes {
		x := randomOperand{shape: shape, dtype: c.operandDType(i, c.dtype), layout: layoutKind(c.r.IntN(int(numLayouts)))}
		if c.r.IntN(10) == 0 {
			x.shape = c.otherShape(shape)
			c.sample.Shapes[i] = x.shape
		}
		if c.r.IntN(16) == 0 {
			x.dtype = c.anyDType()
		}
		switch c.r.IntN(100) {
		case 0:
			x.gone = absent
		case 1:
			x.gone = released
		}
		x.values = c.draw(i, x.shape, x.dtype, x.layout)
		c.operands = append(c.operands, x)
	}
	return true
}

func (c *randomCall) anyDType() ir.DType {
	all := ir.ClassAll.List()
	return all[c.r.IntN(len(all))]
}

// otherShape is a shape with an axis more, less, or of another size.
func (c *randomCall) otherShape(shape []int) []int {
	out := slices.Clone(shape)
	size := edgeSizes[c.r.IntN(len(edgeSizes))]
	at := c.r.IntN(len(out) + 1)
	switch c.r.IntN(4) {
	case 0:
		return slices.Insert(out, at, size)
	case 1:
		return out[:at]
	case 2:
		return out[at:]
	}
	if at < len(out) {
		out[at] = size
	}
	return out
}

func (c *randomCall) argument(a ir.Attr, was ir.Value) ir.Value {
	whole := func() int64 {
		if c.r.IntN(3) > 0 {
			return c.r.Int64N(9) - 4
		}
		return edgeInts[c.r.IntN(len(edgeInts))]
	}
	switch a.Kind {
	case ir.AttrInt:
		return ir.IntValue(whole())
	case ir.AttrBool:
		return ir.IntValue(c.r.IntN(2))
	case ir.AttrEnum:
		return ir.IntValue(c.r.IntN(len(a.Enum)))
	case ir.AttrInts:
		list := make([]int, c.r.IntN(5))
		for i := range list {
			list[i] = int(whole())
		}
		return ir.Value{Ints: list}
	case ir.AttrFloat, ir.AttrScalar:
		return ir.FloatValue(edgeFloats[c.r.IntN(len(edgeFloats))])
	}
	return was
}

// draw returns the values of operand i, in which the first axis of one that is expanded repeats.
func (c *randomCall) draw(i int, shape []int, dt ir.DType, layout layoutKind) []ir.Scalar {
	s := c.sample
	s.Shapes = slices.Clone(s.Shapes)
	for len(s.Shapes) <= i {
		s.Shapes = append(s.Shapes, shape)
	}
	s.Shapes[i] = shape
	if i < len(s.Values) && s.Values[i] == "perm" { // of the sample's shapes alone
		s.Values = nil
	}
	out := source{c.r}.fill(c.o, i, s, dt)
	if special := c.specials(i, dt); c.special && len(special) > 0 && len(c.o.Op.In) > 0 {
		for k := range out {
			if c.r.IntN(3) == 0 {
				out[k] = special[c.r.IntN(len(special))]
			}
		}
	}
	if c.ascends(i) && len(shape) > 0 {
		ascend(out, shape[len(shape)-1])
	}
	if layout == expanded && len(shape) > 0 && ir.NumElements(shape) > 0 {
		inner := ir.NumElements(shape[1:])
		for k := range out {
			out[k] = out[k%inner]
		}
	}
	return out
}

// ascends reports whether operand i is of rows in order, as the row of the bench says.
func (c *randomCall) ascends(i int) bool {
	for _, b := range c.o.Bench {
		if b.None == "" {
			how := b.Sample(Extents{2, 2, 2, 2}).Values
			return i < len(how) && how[i] == "sorted"
		}
	}
	return false
}

func ascend(values []ir.Scalar, row int) {
	for at := 0; row > 0 && at < len(values); at += row {
		slices.SortFunc(values[at:at+row], func(a, b ir.Scalar) int { return cmp.Compare(a.Float(), b.Float()) })
	}
}
