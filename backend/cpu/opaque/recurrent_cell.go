package opaque

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/step"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/backend/cpu/vmath"
	"github.com/sinter-go/sinter/ir"
)

// cellWork is how many elements of a state are worth another processor.
const cellWork = 1024

// A cell is what a worker needs to compute rows of a step.
type cell[T float] struct {
	*recurrence
	step step.Funcs[T]
	room []T              // for the gates of a row, and as much as its state
	args []unsafe.Pointer // of an activation's loop
}

// newCell returns what a worker needs, whose room is the block's.
func newCell[T float](r *recurrence) (*cell[T], *scratch.Block) {
	n := (r.gates + 1) * r.width
	block := scratch.Get(n * int(unsafe.Sizeof(T(0))))
	return &cell[T]{r, step.Of[T](simd.Active()), scratch.Slice[T](block, n), make([]unsafe.Pointer, 2)}, block
}

// eachStep calls begin for every step, in the order in which they are taken or, with back, the
// other one, then row for every row that is gone through, by its number among them, and end. A
// step of few rows is no other worker's, and takes nothing that the one before it has not left.
func eachStep[T float](r *recurrence, back bool, begin func(i int), row func(c *cell[T], row int), end func()) {
	grain := max(1, cellWork/max(1, r.width))
	if r.alone {
		grain = r.count
	}
	own, block := newCell[T](r)
	defer block.Put()
	for i := range r.steps {
		if back {
			i = r.steps - 1 - i
		}
		begin(i)
		switch {
		case r.width == 0:
		case r.count <= grain:
			for k := range r.count {
				row(own, k)
			}
		default:
			pool.For(r.count, grain, func(lo, hi int) {
				c, block := newCell[T](r)
				defer block.Put()
				for ; lo < hi; lo++ {
					row(c, lo)
				}
			})
		}
		end()
	}
}

// rowOf returns row i of a tensor whose rows are gates or, with 1, states.
func rowOf[T float](v []T, i, width int) []T { return v[i*width : (i+1)*width] }

// gate returns the k-th gate of a row of gates.
func (c *cell[T]) gate(v []T, k int) []T { return v[k*c.width : (k+1)*c.width] }

// An activation is a function of each element.
type activation[T float] struct {
	loop  vector.Func // nil: plain
	plain func(T) T
}

func activationOf[T float](name string, plain func(T) T) *activation[T] {
	return &activation[T]{vmath.Loop(name, dtypeOf[T](), simd.Active()), plain}
}

func dtypeOf[T float]() ir.DType {
	if unsafe.Sizeof(T(0)) == 4 {
		return ir.Float32
	}
	return ir.Float64
}

// A set is the activations of cells.
type set[T float] struct{ sigmoid, tanh *activation[T] }

func newSet[T float]() set[T] {
	return set[T]{activationOf("sigmoid", sigmoid[T]), activationOf("tanh", tanh[T])}
}

// apply sets the elements of v to what an activation makes of them.
func (c *cell[T]) apply(a *activation[T], v []T) {
	if a.loop == nil {
		for i, x := range v {
			v[i] = a.plain(x)
		}
		return
	}
	for len(v) > 0 {
		n := min(len(v), 16*tile.Size)
		c.args[0], c.args[1] = unsafe.Pointer(&v[0]), unsafe.Pointer(&v[0])
		a.loop(n, c.args, nil, 0)
		v = v[n:]
	}
}

// oneRow is where one row of a sum lies. It does not change.
var oneRow = []int64{0}

// plus sets to to x + y + bias; it may be y.
func plus[T float](to, x, y, bias []T) {
	if len(to) == 0 {
		return
	}
	if &to[0] != &y[0] {
		copy(to, y)
	}
	added(to, x)
	added(to, bias)
}

// added adds x to to.
func added[T float](to, x []T) {
	size := int(unsafe.Sizeof(T(0)))
	if move.AddRows(simd.Active(), dtypeOf[T](), unsafe.Pointer(&to[0]), unsafe.Pointer(&x[0]), oneRow, len(to)*size) {
		return
	}
	x = x[:len(to)]
	for i, v := range x {
		to[i] += v
	}
}
