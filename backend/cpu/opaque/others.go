package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cpu/cofactor"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

const (
	// othersPart is how many neighbouring elements one processor multiplies, and othersRows how
	// many rows where neighbours belong to different products, othersColumns of them at once.
	othersPart    = 64 << 10
	othersRows    = 256
	othersColumns = 512
	// othersWork is how many elements are worth another processor.
	othersWork = 8 << 10
	// othersFew is how many elements at most are multiplied without division: float64 has the product
	// of all but one, whatever float32 they are.
	othersFew = 7
)

// ProdOthers returns g, which has extent 1 along attribute dim, times the product of the other
// elements of x along dim for each: that of all, divided by each. Zeros, infinities and NaN are
// counted apart, so that what is left when one is taken out is known whatever the others are.
func ProdOthers(c *ir.Call) error {
	x, to := c.In[1], c.Out[0]
	if x.NumElements() == 0 {
		return nil
	}
	folded, err := ir.Axes(c.Attrs[0].Ints, len(x.Shape))
	if err != nil {
		return err
	}
	first := 0
	if n := len(folded); n > 0 {
		if first = folded[0]; folded[n-1]-first != n-1 { // axes that are apart
			x, to, first = axesLast(x, folded), axesLast(to, folded), len(x.Shape)-n
		}
	}
	d := tile.TargetOf(to, ir.Float32)
	o := &others{
		loops: cofactor.Of(simd.Active()),
		x:     tile.Elements[float32](tile.Dense(x, ir.Float32)), out: tile.Elements[float32](d), g: in[float32](c, 0, ir.Float32),
		outer: ir.NumElements(x.Shape[:first]), n: ir.NumElements(x.Shape[first:][:len(folded)]), inner: ir.NumElements(x.Shape[first+len(folded):]),
	}
	if o.inner == 1 {
		o.rows()
	} else {
		o.columns()
	}
	tile.Finish(to, d)
	return nil
}

// axesLast returns a view whose last axes are some of v's.
func axesLast(v ir.View, axes []int) ir.View {
	shape, strides := make([]int, 0, len(v.Shape)), make([]int, 0, len(v.Shape))
	for _, last := range []bool{false, true} {
		for a := range v.Shape {
			if slices.Contains(axes, a) == last {
				shape, strides = append(shape, v.Shape[a]), append(strides, v.Strides[a])
			}
		}
	}
	v.Shape, v.Strides = shape, strides
	return v
}

// An others is a call of ProdOthers on dense operands, a product of n elements for each of outer
// times inner results.
type others struct {
	loops           *cofactor.Loops
	x, out, g       []float32
	outer, n, inner int
}

// rows computes products of neighbouring elements.
func (o *others) rows() {
	if o.n <= othersFew {
		pool.For(o.outer, max(1, othersWork/o.n), o.few)
		return
	}
	parts := (o.n + othersPart - 1) / othersPart
	if parts == 1 {
		pool.For(o.outer, max(1, othersWork/o.n), func(lo, hi int) {
			m, by := cofactor.NewLine(o.loops), o.loops.NewDivider()
			for row := lo; row < hi; row++ {
				o.divide(by, row, 0, o.n, m.Of(o.x[row*o.n:][:o.n]))
			}
		})
		return
	}
	all := make([]cofactor.Counted, o.outer*parts)
	part := func(i int) (row, lo, hi int) {
		lo = i % parts * othersPart
		return i / parts, lo, min(o.n, lo+othersPart)
	}
	pool.For(len(all), 1, func(from, to int) {
		m := cofactor.NewLine(o.loops)
		for i := from; i < to; i++ {
			row, lo, hi := part(i)
			all[i] = m.Of(o.x[row*o.n:][lo:hi])
		}
	})
	for row := range o.outer {
		for i := 1; i < parts; i++ {
			all[row*parts] = all[row*parts].Times(all[row*parts+i])
		}
	}
	pool.For(len(all), 1, func(from, to int) {
		by := o.loops.NewDivider()
		for i := from; i < to; i++ {
			row, lo, hi := part(i)
			o.divide(by, row, lo, hi, all[row*parts])
		}
	})
}

// few writes rows [lo, hi) of few elements.
func (o *others) few(lo, hi int) {
	var after [othersFew]float64 // the product of the elements behind each
	n := o.n
	for row := lo; row < hi; row++ {
		x, out, g, before := o.x[row*n:][:n], o.out[row*n:][:n], o.g[row], 1.0
		product := 1.0
		for i := n - 1; i >= 0; i-- {
			after[i] = product
			product *= float64(x[i])
		}
		for i, v := range x {
			out[i] = g * float32(before*after[i])
			before *= float64(v)
		}
	}
}

// divide writes elements [lo, hi) of a row.
func (o *others) divide(by *cofactor.Divider, row, lo, hi int, all cofactor.Counted) {
	x, out, g := o.x[row*o.n:][lo:hi], o.out[row*o.n:][lo:hi], o.g[row]
	if all.Plain() {
		by.OthersOf(out, x, all.Float64(), g)
		return
	}
	for i, v := range x {
		out[i] = g * all.Without(v)
	}
}

// columns computes products of elements that lie inner elements apart.
func (o *others) columns() {
	panels, spans := (o.inner+othersColumns-1)/othersColumns, (o.n+othersRows-1)/othersRows
	var all []cofactor.Counted // of each span of each result
	if spans > 1 {
		all = make([]cofactor.Counted, o.outer*spans*o.inner)
	}
	pool.For(o.outer*spans*panels, max(1, othersWork/(min(o.n, othersRows)*min(o.inner, othersColumns))), func(from, to int) {
		m, by := cofactor.NewColumns(o.loops, min(o.inner, othersColumns)), o.newPanels()
		for i := from; i < to; i++ {
			p := o.panel(i, panels, spans)
			made := m.Of(o.x[p.at:], p.columns, p.rows, o.inner)
			if spans > 1 {
				copy(all[i/panels*o.inner+p.column:], made)
				continue
			}
			by.divide(p, made)
		}
	})
	if spans == 1 {
		return
	}
	pool.For(o.outer*o.inner, othersWork/spans, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a := all[i/o.inner*spans*o.inner+i%o.inner:]
			for s := 1; s < spans; s++ {
				a[0] = a[0].Times(a[s*o.inner])
			}
		}
	})
	pool.For(o.outer*spans*panels, 1, func(from, to int) {
		by := o.newPanels()
		for i := from; i < to; i++ {
			p := o.panel(i, panels, spans)
			by.divide(p, all[p.outer*spans*o.inner+p.column:][:p.columns])
		}
	})
}

// A panel is rows of a part of the columns, which begin at an element.
type panel struct{ outer, column, columns, rows, at int }

func (o *others) panel(i, panels, spans int) panel {
	p := panel{outer: i / panels / spans, column: i % panels * othersColumns}
	lo := i / panels % spans * othersRows
	p.columns, p.rows = min(othersColumns, o.inner-p.column), min(othersRows, o.n-lo)
	p.at = (p.outer*o.n+lo)*o.inner + p.column
	return p
}

// A panelDivider writes panels, for one goroutine.
type panelDivider struct {
	*others
	by     *cofactor.Divider
	values []float64 // the products of a panel
}

func (o *others) newPanels() *panelDivider {
	return &panelDivider{o, o.loops.NewDivider(), make([]float64, min(o.inner, othersColumns))}
}

// divide writes a panel, of whose columns all are the products.
func (d *panelDivider) divide(p panel, all []cofactor.Counted) {
	plain := true
	for i, a := range all {
		d.values[i] = a.Float64()
		plain = plain && a.Plain()
	}
	g := d.g[p.outer*d.inner+p.column:][:p.columns]
	for r := range p.rows {
		x, out := d.x[p.at+r*d.inner:][:p.columns], d.out[p.at+r*d.inner:][:p.columns]
		if plain {
			d.by.Others(out, x, d.values, g)
			continue
		}
		for i, v := range x {
			out[i] = g[i] * all[i].Without(v)
		}
	}
}
