package memory

// The kinds of pool, as a ledger counts them.
const (
	smallKind = iota
	largeKind
)

// A gauge is a Metric as an allocator keeps it: with as few numbers to change as
// there can be, for each allocation changes five of them.
type gauge struct {
	of   [2]part // by kind of pool
	most int64   // peak of the sum
}

// A part is a Stat without its total increase, which is now + freed - base.
type part struct {
	now, peak, freed int64
	base             int64 // now, when the totals were reset
}

func (g *gauge) grow(kind int, n int64) {
	p := &g.of[kind&1]
	p.now += n
	if p.now > p.peak {
		p.peak = p.now
	}
	if sum := g.sum(); sum > g.most {
		g.most = sum
	}
}

func (g *gauge) shrink(kind int, n int64) {
	p := &g.of[kind&1]
	p.now -= n
	p.freed += n
}

// change grows or shrinks by n.
func (g *gauge) change(kind int, n int64) {
	if n > 0 {
		g.grow(kind, n)
	} else if n < 0 {
		g.shrink(kind, -n)
	}
}

// sum returns the current number over both kinds.
func (g *gauge) sum() int64 { return g.of[smallKind].now + g.of[largeKind].now }

func (p *part) stat() Stat {
	return Stat{Current: p.now, Peak: p.peak, Allocated: p.now + p.freed - p.base, Freed: p.freed}
}

// metric returns the gauge as a program sees it.
func (g *gauge) metric() Metric {
	s, l := g.of[smallKind].stat(), g.of[largeKind].stat()
	return Metric{
		Small: s, Large: l,
		All: Stat{Current: g.sum(), Peak: g.most, Allocated: s.Allocated + l.Allocated, Freed: s.Freed + l.Freed},
	}
}

func (g *gauge) resetPeak() {
	for i := range g.of {
		g.of[i].peak = g.of[i].now
	}
	g.most = g.sum()
}

func (g *gauge) resetTotals() {
	for i := range g.of {
		g.of[i].freed, g.of[i].base = 0, g.of[i].now
	}
}

// A ledger has an allocator's figures.
type ledger struct {
	allocation, allocatedBytes, requestedBytes, active, activeBytes     gauge
	segment, reservedBytes, inactiveSplit, inactiveSplitBytes           gauge
	oversizeAllocations, oversizeSegments                               Stat
	allocRetries, outOfMemory, rejections, syncs, driverIns, driverOuts int64
}

// stats returns the figures as a program sees them.
func (l *ledger) stats() Stats {
	return Stats{
		Allocation: l.allocation.metric(), AllocatedBytes: l.allocatedBytes.metric(), RequestedBytes: l.requestedBytes.metric(),
		Active: l.active.metric(), ActiveBytes: l.activeBytes.metric(),
		Segment: l.segment.metric(), ReservedBytes: l.reservedBytes.metric(),
		InactiveSplit: l.inactiveSplit.metric(), InactiveSplitBytes: l.inactiveSplitBytes.metric(),
		OversizeAllocations: l.oversizeAllocations, OversizeSegments: l.oversizeSegments,
		AllocRetries: l.allocRetries, OutOfMemory: l.outOfMemory, Rejections: l.rejections,
		SyncAllStreams: l.syncs, DeviceAllocs: l.driverIns, DeviceFrees: l.driverOuts,
	}
}

func (l *ledger) gauges() []*gauge {
	return []*gauge{
		&l.allocation, &l.allocatedBytes, &l.requestedBytes, &l.active, &l.activeBytes,
		&l.segment, &l.reservedBytes, &l.inactiveSplit, &l.inactiveSplitBytes,
	}
}

func (l *ledger) resetPeak() {
	for _, g := range l.gauges() {
		g.resetPeak()
	}
	l.oversizeAllocations.Peak, l.oversizeSegments.Peak = l.oversizeAllocations.Current, l.oversizeSegments.Current
}

func (l *ledger) resetTotals() {
	for _, g := range l.gauges() {
		g.resetTotals()
	}
	for _, s := range []*Stat{&l.oversizeAllocations, &l.oversizeSegments} {
		s.Allocated, s.Freed = 0, 0
	}
	l.allocRetries, l.outOfMemory, l.rejections, l.syncs, l.driverIns, l.driverOuts = 0, 0, 0, 0, 0, 0
}
