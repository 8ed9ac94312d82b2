package behaviour_test

import (
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

// A wrongCall is one use of the library that must be refused: by an error
// that names the call's line, without a panic, and with nothing changed.
type wrongCall struct {
	name string
	call func(o *operands) error // one line, which the error must name
	want string                  // parts of the message, separated by |
}

// operands are what the calls are made with.
type operands struct {
	scalar, empty       T // float32: [], [0, 3]
	vec, row            T // float32 [3], [1, 3]
	mat, tall           T // float32 [2, 3], [3, 2]
	square, cube        T // float32 [3, 3], [2, 3, 4]
	image, kernel       T // float32 [1, 2, 5, 5], [3, 2, 3, 3]
	double, half, cplx  T // float64, float16, complex64 [2, 3]
	index, count, mask  T // int64 [3], int32 [2, 3], bool [2, 3]
	far, other, farLeaf T // float32 [2, 3] on sim:0, sim:1, sim:0 with gradients
	leaf, made, view    T // float32 [2, 3] that require gradients: a leaf, twice it, its transpose
	gone, failed        T // a released one, one that carries an error
}

func newOperands() *operands {
	f32 := func(shape ...int) T {
		return tensor.Arange(0, numel(shape), 1, tensor.OfType(tensor.Float32)).Reshape(shape...)
	}
	o := &operands{
		scalar: f32(), empty: f32(0, 3), vec: f32(3), row: f32(1, 3), mat: f32(2, 3), tall: f32(3, 2),
		square: f32(3, 3), cube: f32(2, 3, 4), image: f32(1, 2, 5, 5), kernel: f32(3, 2, 3, 3),
		double: f32(2, 3).ToType(tensor.Float64), half: f32(2, 3).ToType(tensor.Float16), cplx: f32(2, 3).ToType(tensor.Complex64),
		index: tensor.From([]int64{2, 0, 1}), count: f32(2, 3).ToType(tensor.Int32), mask: f32(2, 3).GtScalar(2),
		far: f32(2, 3).To(device.Sim(0)), other: f32(2, 3).To(device.Sim(1)),
		farLeaf: f32(2, 3).To(device.Sim(0)).RequireGrad(), leaf: f32(2, 3).Clone().RequireGrad(), gone: f32(2),
	}
	o.made, o.view = o.leaf.MulScalar(2), o.leaf.T()
	o.failed = o.vec.Add(f32(2))
	_ = o.failed.Err() // looked at
	o.gone.Release()
	return o
}

func numel(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// all returns the operands that hold elements.
func (o *operands) all() []T {
	return []T{o.scalar, o.empty, o.vec, o.row, o.mat, o.tall, o.square, o.cube, o.image, o.kernel, o.double, o.half, o.cplx,
		o.index, o.count, o.mask, o.far, o.other, o.farLeaf, o.leaf, o.made, o.view}
}

// A state is what a call that fails must leave as it was.
type state struct {
	bytes   []byte
	version int64
	leaf    bool
	gradFn  string
	grad    bool
}

func stateOf(t testing.TB, x T) state {
	t.Helper()
	raw, err := x.Bytes()
	must(t, err)
	g, has := x.Grad()
	g.Release()
	return state{raw, x.Version(), x.IsLeaf(), x.GradFn(), has}
}

// namesLine reports whether err names a line of f, a function of a few lines.
func namesLine(err error, f any) bool {
	fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
	file, first := fn.FileLine(fn.Entry())
	for n := first; n < first+8; n++ {
		if strings.Contains(err.Error(), fmt.Sprintf("%s:%d: ", file, n)) {
			return true
		}
	}
	return false
}

// refused makes a call and returns what is wrong with how it failed.
func refused(t *testing.T, c wrongCall, located bool) (problems []string) {
	o := newOperands()
	var before []state
	for _, x := range o.all() {
		before = append(before, stateOf(t, x))
	}
	held := [2]int64{allocated(device.Sim(0)), allocated(device.Sim(1))}
	err := attempt(c.call, o)
	if err == nil {
		return []string{"no error"}
	}
	for _, part := range strings.Split(c.want, "|") {
		if !strings.Contains(err.Error(), part) {
			problems = append(problems, fmt.Sprintf("error %q does not say %q", err, part))
		}
	}
	if located && !namesLine(err, c.call) {
		problems = append(problems, fmt.Sprintf("error %q does not name the line of the call", err))
	}
	for i, x := range o.all() {
		_ = x.Err() // of a form that should have changed it
		if after := stateOf(t, x); !reflect.DeepEqual(after, before[i]) {
			problems = append(problems, fmt.Sprintf("operand %d (%s %v) was changed: %+v, was %+v", i, x.DType(), x.Shape(), after, before[i]))
		}
	}
	for i, was := range held {
		if now := settle(t, device.Sim(i), was); now > was {
			problems = append(problems, fmt.Sprintf("%d bytes of sim:%d are still held", now-was, i))
		}
	}
	return problems
}

// attempt makes the call in a scope, so that what it leaves behind is no
// tensor's. A panic becomes an error that no table expects.
func attempt(call func(*operands) error, o *operands) (err error) {
	tensor.Scope(func() error {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("PANIC: %v", p)
			}
		}()
		err = call(o)
		return nil
	})
	return err
}

// ends makes the least and the greatest int of 64 bits, in what is expected, those of 32.
var ends = strings.NewReplacer("9223372036854775807", "2147483647", "9223372036854775808", "2147483648", "9.223372036854776e+18", "2.147483647e+09")

// TestWrongCalls makes every wrong call of the tables.
func TestWrongCalls(t *testing.T) {
	groups := []struct {
		name    string
		calls   []wrongCall
		located bool // errors name the line of the call
	}{
		{"shape", wrongShapes, true}, {"axis", wrongAxes, true}, {"index", wrongIndices, true},
		{"dtype", wrongDTypes, true}, {"device", wrongDevices, true}, {"write", wrongWrites, true},
		{"gradient", wrongGradients, true}, {"handle", wrongHandles, true}, {"option", wrongOptions, true}, {"argument", wrongArguments, true}, {"size", wrongSizes, true},
		{"setup", wrongSetups, false}, {"carried", carriedFailures, false},
	}
	for _, g := range groups {
		for _, c := range g.calls {
			if strconv.IntSize == 32 {
				if g.name == "size" {
					continue
				}
				c.want = ends.Replace(c.want)
			}
			t.Run(g.name+"/"+c.name, func(t *testing.T) {
				for _, p := range refused(t, c, g.located) {
					t.Error(p)
				}
			})
		}
	}
}

func adamOf(m nn.Module) *optim.Adam {
	a, err := optim.NewAdam(nn.Parameters(m), 0.1)
	if err != nil {
		panic(err)
	}
	return a
}

func datasetOf(fields ...T) data.Dataset {
	d, err := data.Tensors(fields...)
	if err != nil {
		panic(err)
	}
	return d
}

func firstError(batches iter.Seq2[[]T, error]) error {
	for _, err := range batches {
		if err != nil {
			return err
		}
	}
	return nil
}
