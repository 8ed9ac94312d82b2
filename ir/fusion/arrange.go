package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// An Arranged is convolutions and what is between them, whose images have their channels last
// in memory.
type Arranged struct {
	Steps []int // the convolutions, ascending
	Saved int64 // bytes that need not be moved to have channels elsewhere
}

// ChannelsLast returns the steps of a program such that the images that convolutions and their
// gradients give, and that steps element by element or channel by channel make of them, have
// their channels last in memory where fewer bytes are moved then. Saves returns for a convolution
// or a gradient of one how many bytes its device moves besides where the channels of none of its
// images are last; ok is false where the device has no use for that, or where a step channel by
// channel is none that it does so. A step that uses what lies otherwise reads and writes it once
// more. The program stays as it is.
func ChannelsLast(p *program.Program, saves func(step int) (bytes int64, ok bool)) ([]program.Step, []Arranged) {
	a := &arranger{p: p}
	if !a.gains(saves) {
		return nil, nil
	}
	a.look()
	var list []Arranged
	for _, group := range a.groups() {
		if found, ok := a.choose(group); ok {
			list = append(list, found)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	steps := slices.Clone(p.Steps)
	for i := range steps {
		a.rewrite(&steps[i], a.does[i])
	}
	return steps, list
}

// A doing is what a step does to the images that it uses.
type doing uint8

const (
	copies    doing = iota // those that do not lie row-major; a kernel writes its results however they lie
	convolves              // In[0] to Out[0], a convolution or the gradient of its input
	weighs                 // In[0] and In[1], the gradient of a convolution's weight
	channels               // operands like Out[0], which is given as it lies best
	maps                   // element by element
)

// takes reports whether operand j is an image that the step uses however its channels lie.
func (d doing) takes(c *ir.Call, j int) bool {
	switch d {
	case convolves:
		return j == 0
	case weighs:
		return j < 2
	case channels:
		return j < len(c.In) && slices.Equal(c.In[j].Shape, c.Out[0].Shape)
	}
	return true
}

// gives reports whether result j of a step's call is an image that may lie as it is best.
func (d doing) gives(c *ir.Call, j int) bool {
	switch d {
	case convolves, channels:
		return j == 0
	case copies:
		return c.Op != nil && c.Op.Kind == ir.Opaque && c.Op.Tags&ir.TagProduct == 0
	}
	return d == maps
}

// An image is a buffer as an image.
type image struct {
	shape   []int // [n, channels, height, width]
	planes  []int // [n, channels, places], where kernels use it so
	users   []int // steps
	writers int
	bars    bool // it has to lie row-major
	last    bool // its channels are last
}

// free reports whether the image may lie as it is best.
func (m *image) free() bool {
	s, p := m.shape, m.planes
	return s != nil && !m.bars && m.writers == 1 && (p == nil || p[0] == s[0] && p[1] == s[1] && p[2] == s[2]*s[3])
}

// An arranger decides how images lie.
type arranger struct {
	p      *program.Program
	images []image // by buffer
	does   []doing // by step
	saves  []int64 // by step
}

// gains finds the convolutions, gradients of such and steps by channels that may be given other
// layouts, and reports whether one gains.
func (a *arranger) gains(saves func(step int) (int64, bool)) (any bool) {
	for i := range a.p.Steps {
		s := &a.p.Steps[i]
		does := doingOf(s)
		if does == copies {
			continue
		}
		if n, ok := saves(i); ok {
			if a.does == nil {
				a.does, a.saves = make([]doing, len(a.p.Steps)), make([]int64, len(a.p.Steps))
			}
			a.does[i], a.saves[i] = does, n
			any = any || n > 0
		}
	}
	return any
}

// doingOf returns what a step that a device has to be asked about does to its images; copies for
// every other.
func doingOf(s *program.Step) doing {
	c := &s.Call
	if s.Action != program.Launch || len(c.Out) == 0 || len(c.Out[0].Shape) != 4 {
		return copies
	}
	switch {
	case c.Op.Tags&(ir.TagConvolution|ir.TagGradInput) != 0 && len(c.Out) == 1:
		return convolves
	case c.Op.Tags&ir.TagGradWeight != 0:
		return weighs
	case c.Op.Tags&ir.TagChannels != 0:
		return channels
	}
	return copies
}

// look finds out what the other steps do and which images there are.
func (a *arranger) look() {
	a.images = make([]image, len(a.p.Buffers))
	for i := range a.p.Steps {
		s := &a.p.Steps[i]
		c := &s.Call
		if s.Action == program.Launch && a.does[i] == copies && c.Op.Kind == ir.Elementwise && len(c.Space) == 4 && !c.Indexed && c.Seed < 0 {
			a.does[i] = maps
		}
		for j, r := range s.Out {
			a.use(i, r, viewOf(c.Out, j), s.Action == program.Launch && a.does[i].gives(c, j))
			a.images[r.Buffer].writers++
		}
		for j, r := range s.In {
			if r.Buffer >= 0 {
				a.use(i, r, viewOf(c.In, j), s.Action == program.Launch && c.Op.Kind != ir.Joint && a.does[i].takes(c, j))
			}
		}
	}
}

func viewOf(views []ir.View, j int) *ir.View {
	if j < len(views) {
		return &views[j]
	}
	return nil
}

// use notes that step i uses a buffer, which it may do however its elements lie where able
// is set.
func (a *arranger) use(i int, r program.Ref, v *ir.View, able bool) {
	m := &a.images[r.Buffer]
	if n := len(m.users); n == 0 || m.users[n-1] != i {
		m.users = append(m.users, i)
	}
	if !able || v == nil || r.Offset != 0 || r.Version > 1 || a.p.Buffers[r.Buffer].Kind != program.Temporary {
		m.bars = true
		return
	}
	as := &m.shape
	if len(v.Shape) == 3 && a.p.Steps[i].Call.Op.Kind == ir.Opaque {
		as = &m.planes
	} else if len(v.Shape) != 4 {
		m.bars = true
		return
	}
	if *as == nil {
		*as = v.Shape
	}
	m.bars = m.bars || !isImage(v) || !slices.Equal(v.Shape, *as)
}

// isImage reports whether a view is a row-major image, or one whose places are one axis, of which
// it matters where its channels are.
func isImage(v *ir.View) bool {
	return (len(v.Shape) == 4 || len(v.Shape) == 3) && v.IsContiguous() && v.NumElements() > 0 && v.Shape[1] > 1 && ir.NumElements(v.Shape[2:]) > 1
}

// groups returns the buffers that are free by the steps that use several of them.
func (a *arranger) groups() [][]int {
	of := make([]int, len(a.images))
	for b := range of {
		of[b] = b
	}
	var root func(b int) int
	root = func(b int) int {
		if of[b] != b {
			of[b] = root(of[b])
		}
		return of[b]
	}
	first := slices.Repeat([]int{-1}, len(a.p.Steps))
	for b := range a.images {
		if !a.images[b].free() {
			continue
		}
		for _, i := range a.images[b].users {
			if first[i] < 0 {
				first[i] = b
			}
			of[root(b)] = root(first[i])
		}
	}
	at, list := map[int]int{}, [][]int(nil)
	for b := range a.images {
		if !a.images[b].free() {
			continue
		}
		n, known := at[root(b)]
		if !known {
			n = len(list)
			at[root(b)], list = n, append(list, nil)
		}
		list[n] = append(list[n], b)
	}
	return list
}

// choose has images of a group lie with their channels last where that moves fewer bytes.
func (a *arranger) choose(group []int) (Arranged, bool) {
	var steps []int
	for _, b := range group {
		steps = append(steps, a.images[b].users...)
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	before := a.cost(steps)
	for _, b := range group {
		a.images[b].last = true
	}
	for changed := true; changed; {
		changed = false
		for _, b := range group {
			m := &a.images[b]
			if !m.last {
				continue
			}
			with := a.cost(m.users)
			m.last = false
			if a.cost(m.users) < with {
				changed = true
			} else {
				m.last = true
			}
		}
	}
	found := Arranged{Saved: before - a.cost(steps)}
	if found.Saved <= 0 {
		for _, b := range group {
			a.images[b].last = false
		}
		return found, false
	}
	for _, i := range steps {
		if a.does[i] == convolves && a.images[a.p.Steps[i].Out[0].Buffer].last || a.does[i] == weighs && a.wantsLast(i) {
			found.Steps = append(found.Steps, i)
		}
	}
	return found, true
}

// cost returns how many bytes steps move because of how images lie.
func (a *arranger) cost(steps []int) (bytes int64) {
	for _, i := range steps {
		s := &a.p.Steps[i]
		last := a.wantsLast(i)
		if !last {
			bytes += a.saves[i]
		}
		for j := range s.Call.Out {
			if a.does[i] != weighs {
				bytes += a.again(s.Out, s.Call.Out, j, last)
			}
		}
		for j := range s.Call.In {
			if a.does[i].takes(&s.Call, j) {
				bytes += a.again(s.In, s.Call.In, j, last)
			}
		}
	}
	return bytes
}

// wantsLast reports whether a step reads and writes images with their channels last.
func (a *arranger) wantsLast(i int) bool {
	s, does := &a.p.Steps[i], a.does[i]
	isLast := func(refs []program.Ref, j int) bool { return refs[j].Buffer >= 0 && a.images[refs[j].Buffer].last }
	switch does {
	case convolves:
		return isLast(s.Out, 0) || isLast(s.In, 0)
	case weighs:
		return isLast(s.In, 0) || isLast(s.In, 1)
	case channels, maps:
		return isLast(s.Out, 0)
	}
	return false
}

// again returns how many bytes are moved since view j is an image that does not lie as wanted.
func (a *arranger) again(refs []program.Ref, views []ir.View, j int, last bool) int64 {
	if j < len(refs) && refs[j].Buffer >= 0 && a.images[refs[j].Buffer].last != last && isImage(&views[j]) {
		return 2 * views[j].Bytes()
	}
	return 0
}

// lastAxes is the order of an image's axes in memory where channels are last.
var lastAxes = []int{0, 2, 3, 1}

// rewrite has a step use images as they lie. Steps element by element go over them in the
// order of memory.
func (a *arranger) rewrite(s *program.Step, does doing) {
	touches := func(refs []program.Ref) bool {
		return slices.ContainsFunc(refs, func(r program.Ref) bool { return r.Buffer >= 0 && a.images[r.Buffer].last })
	}
	if !touches(s.Out) && !touches(s.In) {
		return
	}
	c := &s.Call
	c.Out, c.In = a.views(s.Out, c.Out), a.views(s.In, c.In)
	if does == maps && a.images[s.Out[0].Buffer].last {
		for _, views := range [][]ir.View{c.Out, c.In} {
			for j := range views {
				views[j].Shape, views[j].Strides = inOrder(views[j].Shape), inOrder(views[j].Strides)
			}
		}
		c.Space = inOrder(c.Space)
	}
	if c.Op.Kind == ir.Elementwise {
		c.Flat = c.AllFlat()
	}
}

// views returns views of buffers, as these lie.
func (a *arranger) views(refs []program.Ref, views []ir.View) []ir.View {
	list := slices.Clone(views)
	for j, r := range refs {
		if r.Buffer >= 0 && a.images[r.Buffer].last {
			list[j].Strides = ir.ChannelsLastStrides(list[j].Shape)
		}
	}
	return list
}

// inOrder returns what there is for each axis in the order of memory.
func inOrder(axes []int) []int {
	list := make([]int, len(lastAxes))
	for i, a := range lastAxes {
		list[i] = axes[a]
	}
	return list
}
