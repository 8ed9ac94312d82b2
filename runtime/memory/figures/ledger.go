package figures

// The kinds of pool, as a ledger counts them.
const (
	Small = iota
	Large
)

// A Gauge is a Metric as an allocator keeps it: with as few numbers to change as
// there can be, for each allocation changes five of them.
type Gauge struct {
	of   [2]part // by kind of pool
	most int64   // peak of the sum
}

// A part is a Stat without its total increase, which is now + freed - base.
type part struct {
	now, peak, freed int64
	base             int64 // now, when the totals were reset
}

func (g *Gauge) Grow(kind int, n int64) {
	p := &g.of[kind&1]
	p.now += n
	if p.now > p.peak {
		p.peak = p.now
	}
	if sum := g.Sum(); sum > g.most {
		g.most = sum
	}
}

func (g *Gauge) Shrink(kind int, n int64) {
	p := &g.of[kind&1]
	p.now -= n
	p.freed += n
}

// Change grows or shrinks by n.
func (g *Gauge) Change(kind int, n int64) {
	if n > 0 {
		g.Grow(kind, n)
	} else if n < 0 {
		g.Shrink(kind, -n)
	}
}

// Sum returns the current number over both kinds.
func (g *Gauge) Sum() int64 { return g.of[Small].now + g.of[Large].now }

func (p *part) stat() Stat {
	return Stat{Current: p.now, Peak: p.peak, Allocated: p.now + p.freed - p.base, Freed: p.freed}
}

// Metric returns the Gauge as a program sees it.
func (g *Gauge) Metric() Metric {
	s, l := g.of[Small].stat(), g.of[Large].stat()
	return Metric{
		Small: s, Large: l,
		All: Stat{Current: g.Sum(), Peak: g.most, Allocated: s.Allocated + l.Allocated, Freed: s.Freed + l.Freed},
	}
}

func (g *Gauge) ResetPeak() {
	for i := range g.of {
		g.of[i].peak = g.of[i].now
	}
	g.most = g.Sum()
}

func (g *Gauge) ResetTotals() {
	for i := range g.of {
		g.of[i].freed, g.of[i].base = 0, g.of[i].now
	}
}

// A Ledger has an allocator's figures.
type Ledger struct {
	Allocation, AllocatedBytes, RequestedBytes, Active, ActiveBytes     Gauge
	Segment, ReservedBytes, InactiveSplit, InactiveSplitBytes           Gauge
	OversizeAllocations, OversizeSegments                               Stat
	AllocRetries, OutOfMemory, Rejections, Syncs, DriverIns, DriverOuts int64
}

// Stats returns the figures as a program sees them.
func (l *Ledger) Stats() Stats {
	return Stats{
		Allocation: l.Allocation.Metric(), AllocatedBytes: l.AllocatedBytes.Metric(), RequestedBytes: l.RequestedBytes.Metric(),
		Active: l.Active.Metric(), ActiveBytes: l.ActiveBytes.Metric(),
		Segment: l.Segment.Metric(), ReservedBytes: l.ReservedBytes.Metric(),
		InactiveSplit: l.InactiveSplit.Metric(), InactiveSplitBytes: l.InactiveSplitBytes.Metric(),
		OversizeAllocations: l.OversizeAllocations, OversizeSegments: l.OversizeSegments,
		AllocRetries: l.AllocRetries, OutOfMemory: l.OutOfMemory, Rejections: l.Rejections,
		SyncAllStreams: l.Syncs, DeviceAllocs: l.DriverIns, DeviceFrees: l.DriverOuts,
	}
}

func (l *Ledger) gauges() []*Gauge {
	return []*Gauge{
		&l.Allocation, &l.AllocatedBytes, &l.RequestedBytes, &l.Active, &l.ActiveBytes,
		&l.Segment, &l.ReservedBytes, &l.InactiveSplit, &l.InactiveSplitBytes,
	}
}

func (l *Ledger) ResetPeak() {
	for _, g := range l.gauges() {
		g.ResetPeak()
	}
	l.OversizeAllocations.Peak, l.OversizeSegments.Peak = l.OversizeAllocations.Current, l.OversizeSegments.Current
}

func (l *Ledger) ResetTotals() {
	for _, g := range l.gauges() {
		g.ResetTotals()
	}
	for _, s := range []*Stat{&l.OversizeAllocations, &l.OversizeSegments} {
		s.Allocated, s.Freed = 0, 0
	}
	l.AllocRetries, l.OutOfMemory, l.Rejections, l.Syncs, l.DriverIns, l.DriverOuts = 0, 0, 0, 0, 0, 0
}
