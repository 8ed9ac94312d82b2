package fusion

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// A Product is a matrix product and what is computed with it: what element-wise calls make
// of its elements, and where Sums is not nil, a fold of the columns of what they give. Or
// nothing follows, and Sums folds the elements of a factor along the axis that the product
// sums over. The scalars of Sums follow those of After.
//
// A call's operands are those of the product, of which the second is a matrix or has as
// many as the first, then those of After that are not the product.
// Its results are those of After, then the product itself where Raw is set, then that of
// Sums. Its space is the product's rows, of all matrices of a batch, and its columns; views
// of After have this shape, and so has the product as a result. Results have no gaps.
//
// Of may be a convolution, too, whose space is its result: views of After have its shape, and
// their elements lie in the same order, or have one number for each channel. Its attributes
// follow those of After, and Sums is nil.
type Product struct {
	Op     *ir.Op // opaque, with code for one kind of device
	Kernel *ir.Kernel
	Of     *ir.Kernel // the product
	After  *Region    // which has no code; nil where nothing follows
	In     []int      // by operand of After: the operand of the call, or -1 for the product
	Raw    bool
	Sums   *ir.Kernel
	Summed int // what Sums folds: a result of After, or where nothing follows a factor, 0 or 1
	// Relaxed is that of Options.
	Relaxed bool
}

// Names returns the operators.
func (p *Product) Names() []string {
	list := []string{p.Of.Op.Name}
	if p.After != nil {
		list = append(list, p.After.Names()...)
	}
	if p.Sums != nil {
		list = append(list, p.Sums.Op.Name)
	}
	return list
}

// A productShape is a product before it has an operator.
type productShape struct {
	of, sums *ir.Kernel
	after    shape
	from     []int
	raw      bool
	folds    []ir.AttrKind // scalars of sums
	summed   int
	out, in  []ir.DType
	relaxed  bool
}

// key makes k what products have in common of which one is the other.
func (s *productShape) key(k key, kind string) key {
	if k == nil {
		k = make(key, 0, 256)
	}
	k = append(k[:0], kind...)
	k.number(int(s.of.Serial()))
	if k.flags([]bool{s.sums != nil, s.raw, s.relaxed}); s.sums != nil {
		k.number(int(s.sums.Serial()))
	}
	numbers(&k, s.from)
	k.number(s.summed)
	numbers(&k, s.out)
	numbers(&k, s.in)
	s.after.key(&k)
	return k
}

// product makes the operator.
func (s *productShape) product() (*Product, error) {
	p := &Product{Of: s.of, In: s.from, Raw: s.raw, Sums: s.sums, Summed: s.summed, Relaxed: s.relaxed,
		Op: &ir.Op{Kind: ir.Opaque, DTypes: ir.DTypeSet(1) << s.of.DType, Switch: -1, Tags: ir.TagFused | s.of.Op.Tags&ir.TagTF32}}
	var err error
	if len(s.after.members) > 0 {
		if p.After, err = s.after.region(); err != nil {
			return nil, err
		}
	}
	for i, d := range s.in {
		p.Op.In = append(p.Op.In, ir.Operand{Name: fmt.Sprintf("x%d", i), Fixed: d})
	}
	for i, kind := range slices.Concat(s.after.attrs, s.folds) {
		p.Op.Attrs = append(p.Op.Attrs, ir.Attr{Name: fmt.Sprintf("s%d", i), Kind: kind})
	}
	if s.of.Op.Tags&ir.TagConvolution != 0 {
		p.Op.Attrs = append(p.Op.Attrs, s.of.Op.Attrs...)
	}
	for i, d := range s.out {
		p.Op.Out = append(p.Op.Out, ir.Result{Name: fmt.Sprintf("y%d", i), DType: d})
	}
	p.Op.Name = "fused_" + strings.Join(brief(p.Names()), "_")
	p.Op.Doc = "computes " + strings.Join(p.Names(), ", ") + " in one call."
	p.Kernel = p.Op.Kernel(0, s.of.DType)
	return p, nil
}

// composed are the products that were made, coded those of them that have code.
var composed, coded memo[*Product]

// A productBuilder makes the product and the call of a group.
type productBuilder struct {
	*planner
	g             *Group
	step          int
	after         []int // steps of its region
	rows, columns int
	size          []int // these
	convolves     bool
	like          []int // strides of a convolution's result, as the region sees it
	room          struct {
		group Group
		size  [2]int
		pairs []int
	}
	shape     productShape
	candidate *Product
	key       key // of the shape that the candidate is of
}

// attach makes groups of products and what is computed with them.
func (l *planner) attach() {
	var b *productBuilder
	for i := range l.p.Steps {
		s := &l.p.Steps[i]
		if s.Action != program.Launch || s.Call.Op.Tags&(ir.TagProduct|ir.TagConvolution) == 0 || l.o.Refused(i) != "" {
			continue
		}
		if b == nil || l.products[l.group[b.step]] == b { // otherwise the last one found nothing
			b = new(productBuilder)
		}
		if !l.begin(b, i) {
			continue
		}
		taken := false
		for _, u := range l.users[s.Out[0].Buffer] {
			if taken = l.follows(u.step, i) && b.take(l.group[u.step]); taken {
				break
			}
		}
		for j := range l.p.Steps {
			if taken || b.convolves || b.takeFactor(j) {
				break
			}
		}
	}
}

// follows reports whether step k is element-wise and reads what step i gives.
func (l *planner) follows(k, i int) bool {
	return l.info[k] != nil && slices.Contains(l.p.Steps[k].In, l.p.Steps[i].Out[0])
}

// begin makes b the builder of step i, a product or a convolution, and reports false where that
// has to stay alone.
func (l *planner) begin(b *productBuilder, i int) bool {
	s := &l.p.Steps[i]
	c := &s.Call
	v := &c.Out[0]
	if len(c.Out) != 1 || v.DType != c.DType || v.NumElements() == 0 || !l.made(s.Out[0]) {
		return false
	}
	*b = productBuilder{planner: l, g: &b.room.group, step: i, shape: productShape{of: c.Kernel}, key: b.key}
	if c.Op.Tags&ir.TagConvolution != 0 {
		b.convolves, b.size = true, v.Shape
		return withoutGaps(v)
	}
	x, y := c.In[0].Shape, c.In[1].Shape
	switch {
	case c.DType != ir.Float32 && c.DType != ir.Float64 && !short(c.DType) || !v.IsContiguous(), len(c.Attrs) > 0 || len(x) < 2 || len(y) < 2:
		return false
	case len(y) > 2 && !slices.Equal(x[:len(x)-2], y[:max(len(y)-2, 0)]):
		return false
	}
	b.columns = v.Shape[len(v.Shape)-1]
	b.rows = v.NumElements() / b.columns
	b.room.size = [2]int{b.rows, b.columns}
	b.size = b.room.size[:]
	return true
}

// take makes a region's steps, and a fold of columns of what they give, parts of the
// product's group, where that may be.
func (b *productBuilder) take(group int) bool {
	l, at := b.planner, b.group[b.step]
	if l.rows[group] != nil || l.products[group] != nil || l.between(at, group) {
		return false
	}
	steps := l.steps[group]
	for _, i := range steps {
		if l.info[i] == nil || short(l.p.Steps[i].Call.DType) != short(b.shape.of.DType) || l.o.Place(i) != l.o.Place(b.step) {
			return false
		}
	}
	if b.collect(steps) != nil {
		return false
	}
	l.merge(at, group)
	without, shape := *b.g, b.shape
	for j := range l.p.Steps {
		if b.convolves || !b.sums(j) {
			continue
		}
		if b.takes() {
			l.merge(at, j)
			break
		}
		*b.g, b.shape = without, shape
	}
	if b.shape.sums == nil && !b.takes() {
		for _, i := range steps {
			l.group[i] = group
		}
		l.steps[at], l.steps[group] = []int{b.step}, steps
		return false
	}
	b.after, b.g.Steps = steps, l.steps[at]
	l.products[at] = b
	return true
}

// takes reports whether the device has code for what the builder has found.
func (b *productBuilder) takes() bool {
	b.shape.in, b.shape.out, b.shape.relaxed = dtypesOf(b.g.Call.In), dtypesOf(b.g.Call.Out), b.o.Relaxed
	b.key = b.shape.key(b.key, b.o.Kind(b.step))
	p, err := composed.get(b.key, false, b.shape.product)
	if err != nil {
		return false
	}
	b.candidate, b.g.Call.Kernel = p, p.Kernel
	return b.o.Takes(b.step, p, &b.g.Call)
}

// errProduct is why calls are not one kernel with a product.
var errProduct = errors.New("views are no rows and columns of the product")

// collect finds what the call reads and stores.
func (b *productBuilder) collect(steps []int) error {
	e := b.builder(steps)
	defer e.done()
	var ok bool
	if e.space, ok = b.space(steps); !ok {
		return errProduct
	}
	if err := e.collect(); err != nil {
		return err
	}
	s := &b.p.Steps[b.step]
	g, c := b.g, &b.g.Call
	more := len(e.g.In)
	g.In, c.In = append(make([]program.Ref, 0, len(s.In)+more), s.In...), append(make([]ir.View, 0, len(s.In)+more), s.Call.In...)
	more = len(e.g.Out) + 1
	g.Out, c.Out = make([]program.Ref, 0, more), make([]ir.View, 0, more)
	c.Space, c.Precision, c.Scalars, c.Attrs = b.size, s.Call.Precision, e.g.Call.Scalars, e.g.Call.Attrs
	b.shape.after, b.shape.from = e.shape, make([]int, 0, len(e.g.In))
	if b.convolves {
		at := slices.Index(e.g.In, s.Out[0])
		if at < 0 || !withoutGaps(&e.g.Call.In[at]) || e.g.Call.In[at].NumElements() != ir.NumElements(b.size) {
			return errProduct
		}
		b.like = e.g.Call.In[at].Strides
	}
	for j, r := range e.g.In {
		v, ok := b.matrix(&e.g.Call.In[j])
		whole := ok && b.dense(&v) && r == s.Out[0]
		switch {
		case !ok || !whole && r.Buffer == s.Out[0].Buffer:
			return errProduct
		case whole:
			b.shape.from = append(b.shape.from, -1)
			continue
		}
		b.shape.from = append(b.shape.from, len(g.In))
		g.In, c.In = append(g.In, r), append(c.In, v)
	}
	for j, r := range e.g.Out {
		v, ok := b.matrix(&e.g.Call.Out[j])
		factor := slices.ContainsFunc(s.In, func(x program.Ref) bool { return x.Buffer == r.Buffer })
		if !ok || !b.dense(&v) || factor {
			return errProduct
		}
		g.Out, c.Out = append(g.Out, r), append(c.Out, v)
	}
	if b.shape.raw = b.p.Buffers[s.Out[0].Buffer].Kind != program.Temporary || b.usedOutside(steps, s.Out[0], b.step); b.shape.raw {
		v, _ := b.matrix(&s.Call.Out[0])
		g.Out, c.Out = append(g.Out, s.Out[0]), append(c.Out, v)
	}
	if b.convolves {
		c.Scalars, c.Attrs = slices.Concat(c.Scalars, s.Call.Scalars), slices.Concat(c.Attrs, s.Call.Attrs)
	}
	return nil
}

// pair returns a list of two numbers, several of which are one object.
func (b *productBuilder) pair(x, y int) []int {
	if len(b.room.pairs) < 2 {
		b.room.pairs = make([]int, 16)
	}
	p := b.room.pairs[:2:2]
	p[0], p[1], b.room.pairs = x, y, b.room.pairs[2:]
	return p
}

// matrix returns a view as one of the product's rows and columns, or like the convolution's
// result; false where it is none.
func (b *productBuilder) matrix(v *ir.View) (ir.View, bool) {
	if b.convolves {
		own := b.p.Steps[b.step].Call.Out[0]
		own.DType = v.DType
		if slices.Equal(v.Strides, b.like) {
			return own, true
		}
		at := slices.IndexFunc(v.Strides, func(step int) bool { return step != 0 })
		if at < 0 || b.like[at] != own.Strides[1] || v.Shape[at] != own.Shape[1] || slices.ContainsFunc(v.Strides[at+1:], func(step int) bool { return step != 0 }) {
			return own, false
		}
		strides := make([]int, len(own.Shape))
		strides[1] = v.Strides[at]
		own.Strides = strides
		return own, true
	}
	row, element, ok := split(v, b.rows, b.columns)
	return ir.View{DType: v.DType, Shape: b.size, Strides: b.pair(row, element)}, ok
}

// dense reports whether a view that matrix returned names elements that lie next to each
// other, in the order of the product's.
func (b *productBuilder) dense(v *ir.View) bool {
	return v.IsContiguous() || b.convolves && withoutGaps(v)
}

// withoutGaps reports whether the elements of a view lie next to each other, row-major in
// some order of its axes.
func withoutGaps(v *ir.View) bool {
	order := make([]int, 0, 8)
	for a, n := range v.Shape {
		if n != 1 {
			order = append(order, a)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v.Strides[a], v.Strides[b]) })
	next := 1
	for _, a := range order {
		if v.Strides[a] != next {
			return false
		}
		next *= v.Shape[a]
	}
	return true
}

// sums takes step j where it folds the columns of what the region gives.
func (b *productBuilder) sums(j int) bool {
	s := &b.p.Steps[j]
	c := &s.Call
	if s.Action != program.Launch || c.Op.Kind != ir.Reduction || len(b.steps[b.group[j]]) > 1 || b.o.Refused(j) != "" || b.o.Place(j) != b.o.Place(b.step) ||
		len(c.In) != 1 || len(c.Out) != 1 || c.DType != b.shape.of.DType || c.DType != c.Compute {
		return false
	}
	after := len(b.g.Out)
	if b.shape.raw {
		after--
	}
	at := slices.Index(b.g.Out[:after], s.In[0])
	last := len(c.Space) - 1
	if at < 0 || c.In[0].DType != c.DType || c.Out[0].DType != c.DType || !c.In[0].IsContiguous() || c.Space[last] != b.columns || slices.Contains(c.Axes, last) ||
		c.ReducedCount() != int64(b.rows) || b.columns > 1 && c.Out[0].Strides[last] != 1 || !b.made(s.Out[0]) || b.between(b.group[b.step], b.group[j]) {
		return false
	}
	b.shape.sums, b.shape.summed = c.Kernel, at
	b.shape.folds = addScalars(&b.g.Call, c)
	b.g.Out = append(b.g.Out, s.Out[0])
	b.g.Call.Out = append(b.g.Call.Out, ir.View{DType: c.DType, Shape: []int{b.columns}, Strides: []int{1}})
	return true
}

// takeFactor makes step j, where it folds a factor's elements along the axis that the
// product sums over, a part of the product's group.
func (b *productBuilder) takeFactor(j int) bool {
	l, s, own := b.planner, &b.p.Steps[j], &b.p.Steps[b.step]
	c := &s.Call
	if s.Action != program.Launch || c.Op.Kind != ir.Reduction || len(l.steps[l.group[j]]) > 1 || l.o.Refused(j) != "" || l.o.Place(j) != l.o.Place(b.step) ||
		len(c.In) != 1 || len(c.Out) != 1 || c.DType != b.shape.of.DType || c.DType != c.Compute || c.In[0].DType != c.DType || c.Out[0].DType != c.DType ||
		!c.Out[0].IsContiguous() || !l.made(s.Out[0]) || len(own.In) != 2 || own.Call.Out[0].DType != c.DType {
		return false
	}
	for f, r := range own.In {
		x := &own.Call.In[f]
		if r != s.In[0] || len(x.Shape) != 2 || x.DType != c.DType || !along(c, x, 1-f) || l.between(l.group[b.step], l.group[j]) {
			continue
		}
		v, ok := b.matrix(&own.Call.Out[0])
		if !ok {
			return false
		}
		sum := ir.View{DType: c.DType, Shape: []int{x.Shape[f]}, Strides: []int{1}}
		*b.g = Group{Steps: []int{min(b.step, j), max(b.step, j)}, In: slices.Clone(own.In), Out: []program.Ref{own.Out[0], s.Out[0]},
			Call: ir.Call{Space: []int{b.rows, b.columns}, Precision: own.Call.Precision, In: slices.Clone(own.Call.In), Out: []ir.View{v, sum}}}
		b.shape = productShape{of: b.shape.of, sums: c.Kernel, summed: f, raw: true, folds: addScalars(&b.g.Call, c)}
		if b.takes() {
			at := l.group[b.step]
			l.merge(at, l.group[j])
			l.products[at] = b
			return true
		}
	}
	return false
}

// along reports whether a reduction folds a matrix along the one axis and keeps the other.
func along(c *ir.Call, x *ir.View, axis int) bool {
	var shapes, strides [2][]int // of axes that are kept, and folded
	for a, n := range c.Space {
		k := 0
		if slices.Contains(c.Axes, a) {
			k = 1
		}
		shapes[k], strides[k] = append(shapes[k], n), append(strides[k], c.In[0].Strides[a])
	}
	same := func(k, axis int) bool {
		step, ok := joined(shapes[k], strides[k])
		n := ir.NumElements(shapes[k])
		return ok && n == x.Shape[axis] && (n == 1 || step == x.Strides[axis])
	}
	return same(0, 1-axis) && same(1, axis)
}

// build makes the product of a group.
func (b *productBuilder) build(quick bool) (*Group, error) {
	p, err := coded.get(b.key, quick, func() (*Product, error) { return b.candidate, b.o.ProductCode(b.step, b.candidate) })
	if err != nil {
		return nil, err
	}
	b.g.Call.Kernel = p.Kernel
	return b.g, nil
}

func dtypesOf(views []ir.View) []ir.DType {
	list := make([]ir.DType, len(views))
	for i := range views {
		list[i] = views[i].DType
	}
	return list
}

// addScalars gives call to the scalar attributes of from, too, and returns their kinds.
func addScalars(to, from *ir.Call) (kinds []ir.AttrKind) {
	for j, a := range from.Op.Attrs {
		switch a.Kind {
		case ir.AttrScalar, ir.AttrFloat, ir.AttrInt, ir.AttrBool:
			to.Scalars, to.Attrs = append(to.Scalars, from.Scalars[len(kinds)]), append(to.Attrs, from.Attrs[j])
			kinds = append(kinds, a.Kind)
		}
	}
	return kinds
}
