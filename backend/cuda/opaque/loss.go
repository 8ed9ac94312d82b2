package opaque

import (
	"math/bits"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

// reduceNone is the reduction that keeps the losses of the rows, as numbered in
// its enum.
const reduceNone = 0

const (
	// smallLoss is how many elements one block goes over faster than another
	// launch takes.
	smallLoss = 1 << 15
	// lossThreads is how many threads a block has where there are several, and
	// lossBlocks the most blocks for each multiprocessor.
	lossThreads = 256
	lossBlocks  = 8
	// totalsSize is the bytes that a block of several leaves for the last.
	totalsSize = 16
)

// A classLoss is a launch of a kernel of cross_entropy.cu over an x [rows/inner,
// along, inner].
type classLoss struct {
	kernel             string // with its dtype
	threads            [3]int
	blocks             int
	lanes              int // of a row; 0 where the kernel does not ask
	rows, along, inner int
}

// CrossEntropy returns the loss of the scores x, reduced, log(sum(exp(x))) of each
// row and what the mean is divided by.
func CrossEntropy(g code.GPU, c *ir.Call) error {
	lse, err := contiguous(g, c.Out[1], ir.Float64)
	if err != nil {
		return err
	}
	x, err := g.Dense(c.In[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	l := lossOver(x.Shape)
	l.scores(g, x)
	if err := l.launch(g, c, x, lse.Addr, trap.CrossEntropy); err != nil {
		return err
	}
	return lse.finish(g)
}

// NLL returns the loss of the logarithms of probabilities x, reduced, and what the
// mean is divided by.
func NLL(g code.GPU, c *ir.Call) error {
	x, err := g.Dense(c.In[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	l := lossOver(x.Shape)
	l.kernel = ofType("nll", x.DType)
	l.spread(g, l.rows, 1, smallLoss/8)
	return l.launch(g, c, x, 0, trap.NLL)
}

func lossOver(shape []int) classLoss {
	outer, along, inner := around(shape, min(len(shape)-1, 1))
	return classLoss{rows: outer * inner, along: along, inner: inner}
}

// scores chooses the kernel that goes over all elements of x.
func (l *classLoss) scores(g code.GPU, x ir.View) {
	l.kernel = ofType("cross_entropy", x.DType)
	vector := ""
	if (uint64(l.along*x.DType.Size())|x.Addr)%16 == 0 {
		vector = "_vector"
	}
	most := lossBlocks * g.Multiprocessors()
	switch {
	case l.inner > 1:
		parts := min(warp, 1<<bits.Len(uint(l.along/columnElements)))
		l.kernel, l.threads = l.kernel+"_columns", [3]int{warp, parts, 1}
		l.blocks = max(min(int(ceil(int64(l.rows), warp)), most), 1)
	case l.along > manyKept*warp:
		threads := min(int(ceil(int64(l.along), fewKept*warp))*warp, largestBlock)
		l.kernel, l.threads = l.kernel+"_block"+vector, block(threads)
		l.blocks = max(min(l.rows, most), 1)
	default:
		l.kernel += "_warp" + vector
		l.lanes = min(1<<bits.Len(uint(max(l.along-1, 0)/fewKept)), warp)
		l.spread(g, l.rows*l.lanes, max(l.along, 1), smallLoss)
	}
}

// spread makes one block of few threads' work, of each elements for a row, and
// several of more than small.
func (l *classLoss) spread(g code.GPU, threads, each, small int) {
	if l.rows*each <= small {
		l.blocks, l.threads = 1, block(min(max(int(ceil(int64(threads), warp)), 1)*warp, largestBlock))
		return
	}
	l.blocks = min(int(ceil(int64(threads), lossThreads)), lossBlocks*g.Multiprocessors())
	l.threads = block(lossThreads)
}

// launch enqueues the kernel, and that which adds up what several blocks have
// found. x is the first operand.
func (l *classLoss) launch(g code.GPU, c *ir.Call, x ir.View, lse uint64, who trap.Who) error {
	target, weight, err := lossOperands(g, c, 1, x.DType)
	if err != nil {
		return err
	}
	loss, err := contiguous(g, c.Out[0], x.DType)
	if err != nil {
		return err
	}
	total, err := contiguous(g, c.Out[len(c.Out)-1], ir.Float64)
	if err != nil {
		return err
	}
	reduction, several := c.Attrs[1].Int, uint64(0)
	if l.blocks > 1 && reduction != reduceNone {
		if several, err = g.Scratch(int64(l.blocks) * totalsSize); err != nil {
			return err
		}
	}
	var p driver.Params
	for _, addr := range []uint64{loss.Addr, lse, total.Addr, several, x.Addr, target, weight} {
		p.Uint64(addr)
	}
	for _, n := range []int64{int64(l.rows), int64(l.along), int64(l.inner), c.Attrs[0].Int} {
		p.Int64(n)
	}
	p.Uint64(g.Trap())
	p.Uint32(uint32(who))
	p.Int32(int32(reduction))
	operands := len(p.Bytes())
	if l.lanes > 0 {
		p.Int32(int32(l.lanes))
	}
	if err := g.Launch("cross_entropy", l.kernel, [3]int{l.blocks, 1, 1}, l.threads, 0, p.Bytes()); err != nil {
		return err
	}
	if several != 0 {
		var last driver.Params
		last.Struct(p.Bytes()[:operands], 8)
		last.Int64(int64(l.blocks))
		finish := ofType("cross_entropy", x.DType) + "_finish"
		if err := g.Launch("cross_entropy", finish, [3]int{1, 1, 1}, block(lossThreads), 0, last.Bytes()); err != nil {
			return err
		}
	}
	if err := loss.finish(g); err != nil {
		return err
	}
	return total.finish(g)
}

// lossOperands returns the addresses of the targets, an operand, and of the
// weights of the classes, the last, or 0.
func lossOperands(g code.GPU, c *ir.Call, target int, dt ir.DType) (targets, weights uint64, err error) {
	t, err := g.Dense(c.In[target], ir.Int64)
	if err != nil {
		return 0, 0, err
	}
	w := c.In[len(c.In)-1]
	if !w.Given() {
		return t.Addr, 0, nil
	}
	w, err = g.Dense(w, dt)
	return t.Addr, w.Addr, err
}

// CrossEntropyGrad returns (exp(x - lse) - 1 at the target)*g*weight, over total
// for the mean. Operands: g, x, target, lse, total, and perhaps weight.
func CrossEntropyGrad(g code.GPU, c *ir.Call) error {
	x, err := g.Dense(c.In[1], c.Out[0].DType)
	if err != nil {
		return err
	}
	lse, err := g.Dense(c.In[3], ir.Float64)
	if err != nil {
		return err
	}
	return lossGrad(g, c, 2, x.Addr, lse.Addr, c.In[4])
}

// NLLGrad returns -g*weight at the target and 0 elsewhere, over total for the
// mean. Operands: g, target, total, and perhaps weight.
func NLLGrad(g code.GPU, c *ir.Call) error { return lossGrad(g, c, 1, 0, 0, c.In[2]) }

// lossGrad launches the gradient of a loss; target is an operand, x and lse are
// addresses or 0. The last two attributes are ignore_index and reduction.
func lossGrad(g code.GPU, c *ir.Call, target int, x, lse uint64, total ir.View) error {
	n := c.Out[0].NumElements()
	if n == 0 {
		return nil
	}
	dt := c.Out[0].DType
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	dy, err := g.Dense(c.In[0], dt)
	if err != nil {
		return err
	}
	total, err = g.Dense(total, ir.Float64)
	if err != nil {
		return err
	}
	targets, weights, err := lossOperands(g, c, target, dt)
	if err != nil {
		return err
	}
	l, attrs := lossOver(out.Shape), c.Attrs[len(c.Attrs)-2:]
	kernel := ofType("cross_entropy_grad", dt)
	if l.inner == 1 && (uint64(l.along*dt.Size())|out.Addr|x)%16 == 0 {
		kernel, n = kernel+"_vector", n*dt.Size()/16
	}
	var p driver.Params
	for _, addr := range []uint64{out.Addr, dy.Addr, x, targets, lse, total.Addr, weights} {
		p.Uint64(addr)
	}
	for _, n := range []int64{int64(l.rows), int64(l.along), int64(l.inner), attrs[0].Int, attrs[1].Int} {
		p.Int64(n)
	}
	if err := g.Launch("cross_entropy", kernel, grid(int64(n), blockThreads), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}
