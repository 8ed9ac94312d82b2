package conformance_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/conformance/model"
)

// randomSteps are the random test's, over all variants.
const randomSteps = 100_000

// A modelVariant is one way to run the random test.
type modelVariant struct {
	name      string
	settings  string
	limit     int64 // bytes; 0: the device's memory
	total     int64 // bytes of the simulated device
	pools     bool  // private pools too
	largest   int64 // bytes of a request
	divisions int64
	maxSplit  int64
	collect   float64
	part      int // of all steps, in twentieths
}

var modelVariants = []modelVariant{
	{name: "plain", limit: 200 * mib, largest: 40 * mib, part: 6},
	{name: "divisions", settings: "roundup_power2_divisions:4", divisions: 4, limit: 150 * mib, largest: 40 * mib, part: 2},
	{name: "oversize", settings: "max_split_size_mb:32", maxSplit: 32 * mib, limit: 400 * mib, largest: 90 * mib, part: 3},
	{name: "collection", settings: "garbage_collection_threshold:0.6", collect: 0.6, limit: 200 * mib, largest: 30 * mib, part: 3},
	{name: "pools", pools: true, limit: 700 * mib, largest: 30 * mib, part: 3},
	{name: "expandable", settings: "expandable_segments:True", total: 300 * mib, largest: 60 * mib, part: 3},
}

const mib = 1 << 20

// TestAllocatorModel does 100,000 random steps on the allocator and on a model of
// it that shares no code, and compares addresses, divisions, merges, the layout of
// memory, what waits, and every figure after each. Neither overlaps a block in use
// nor reuses one before its events.
func TestAllocatorModel(t *testing.T) {
	steps := randomSteps
	if testing.Short() || allocations.RaceDetector {
		steps /= 25
	}
	for i, v := range modelVariants {
		t.Run(v.name, func(t *testing.T) {
			r := newModelRun(t, v, *seed+uint64(i))
			for range steps * v.part / 20 {
				r.step()
			}
			r.enough()
		})
	}
}

// A modelRun is one variant under way.
type modelRun struct {
	t       *testing.T
	v       modelVariant
	r       *rand.Rand
	dev     device.Device
	drv     *gated
	m       *model.Model
	streams []device.StreamID
	names   map[device.StreamID]uint64 // the model's
	blocks  []modelPair
	freed   []modelAwaited
	pools   []*memory.Pool // by the model's number; nil once released, and the default one
	ids     []memory.PoolID
	what    string // the step
	done    int
}

// A modelPair is a block on both sides.
type modelPair struct {
	real memory.Block
	want *model.Block
	size int64
}

// modelAwaited is a freed block with recorded streams that were held then.
type modelAwaited struct {
	addr uint64
	size int64
	on   []device.StreamID
}

func newModelRun(t *testing.T, v modelVariant, seed uint64) *modelRun {
	if v.settings != "" {
		must(t, memory.Configure(v.settings))
		t.Cleanup(func() { must(t, memory.Configure("")) })
	}
	r := &modelRun{t: t, v: v, r: rand.New(rand.NewPCG(seed, 11)), dev: one(t), names: map[device.StreamID]uint64{}, pools: []*memory.Pool{nil}, ids: []memory.PoolID{{}}}
	if kind == device.KindSim {
		r.drv = gateDriver(t, fresh(t, sim.Config{Devices: 1, Async: true, Memory: v.total}))
	} else {
		inner, err := device.DriverOf(kind)
		must(t, err)
		r.drv = gateDriver(t, inner)
	}
	r.streams = []device.StreamID{0}
	for range 3 {
		r.streams = append(r.streams, r.drv.stream(t))
	}
	for i, s := range r.streams {
		r.names[s] = uint64(i)
	}
	p, err := r.drv.Properties(0)
	must(t, err)
	c := model.Config{
		Total: p.TotalMemory, MaxSplit: v.maxSplit, Divisions: v.divisions, Collect: v.collect,
		Expandable: v.settings == "expandable_segments:True",
	}
	if c.Expandable && !r.drv.CanMap(0) {
		t.Skip("the device does not map memory on demand")
	}
	if v.limit > 0 {
		fraction := (float64(v.limit) + 0.5) / float64(p.TotalMemory)
		must(t, memory.SetMemoryFraction(r.dev, fraction))
		t.Cleanup(func() { must(t, memory.SetMemoryFraction(r.dev, 1)) })
		c.Limit = v.limit
	}
	r.m = model.New(c)
	t.Cleanup(r.finish)
	return r
}

// finish gives everything back.
func (r *modelRun) finish() {
	for _, p := range r.blocks {
		must(r.t, p.real.Free())
	}
	for _, p := range r.pools {
		if p != nil {
			must(r.t, p.Release())
		}
	}
	must(r.t, memory.EmptyCache(r.dev))
	if left := memory.Reserved(r.dev); left != 0 {
		r.t.Errorf("%d bytes are left", left)
	}
}

func (r *modelRun) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("step %d, %s: %s", r.done, r.what, fmt.Sprintf(format, args...))
}

// step does one thing on both sides and compares them.
func (r *modelRun) step() {
	r.done++
	switch n := r.r.IntN(1000); {
	case n < 450 && len(r.blocks) < 150 || len(r.blocks) == 0:
		r.alloc()
	case n < 800:
		r.free(r.r.IntN(len(r.blocks)))
	case n < 900:
		p, s := r.blocks[r.r.IntN(len(r.blocks))], r.streams[r.r.IntN(len(r.streams))]
		r.what = fmt.Sprintf("stream %d uses %#x", r.names[s], p.real.Addr)
		p.real.RecordStream(s)
		r.m.Record(p.want, r.names[s])
	case n < 985:
		r.turn(r.streams[1+r.r.IntN(len(r.streams)-1)])
	case n < 990 || !r.v.pools:
		r.what = "emptying the cache"
		r.m.Empty()
		must(r.t, memory.EmptyCache(r.dev))
	default:
		r.release()
	}
	r.compare()
}

// size returns the bytes of a request: small ones mostly, and those near the
// borders of the rules.
func (r *modelRun) size() int64 {
	switch n := r.r.IntN(100); {
	case n < 40:
		return 1 + r.r.Int64N(4000)
	case n < 65:
		return 1 + r.r.Int64N(mib)
	case n < 70:
		return mib - 1024 + r.r.Int64N(2048)
	case n < 85:
		return mib + r.r.Int64N(9*mib)
	case n < 92:
		return 10*mib - 1024 + r.r.Int64N(2048)
	}
	return 10*mib + r.r.Int64N(r.v.largest-10*mib)
}

func (r *modelRun) alloc() {
	bytes, s, pool := r.size(), r.streams[r.r.IntN(3)], r.pool()
	r.what = fmt.Sprintf("%d bytes on stream %d of pool %d", bytes, r.names[s], pool)
	want := r.m.Alloc(pool, r.names[s], bytes)
	b, err := r.allocReal(pool, s, bytes)
	if err != nil {
		if want != nil || !errors.Is(err, device.ErrOutOfMemory) {
			r.fail("%v", err)
		}
		r.compare()
		for range len(r.blocks) / 2 { // else most steps would end so
			r.free(r.r.IntN(len(r.blocks)))
		}
		return
	}
	if want == nil {
		r.fail("%d bytes at %#x, want no memory", b.Bytes, b.Addr)
	}
	addr, known := want.Address()
	if !known {
		if err := r.m.Place(want, b.Addr); err != nil {
			r.fail("%d bytes at %#x, want them in a new segment: %v", b.Bytes, b.Addr, err)
		}
		addr = b.Addr
	}
	if b.Addr != addr || b.Bytes != want.Size {
		r.fail("%d bytes at %#x, want %d at %#x", b.Bytes, b.Addr, want.Size, addr)
	}
	r.apart(b)
	r.blocks = append(r.blocks, modelPair{b, want, b.Bytes})
}

func (r *modelRun) allocReal(pool int, s device.StreamID, bytes int64) (b memory.Block, err error) {
	if pool == 0 {
		return memory.Alloc(r.dev, r.drv, s, bytes)
	}
	must(r.t, r.pools[pool].Do(func() error { b, err = memory.Alloc(r.dev, r.drv, s, bytes); return nil }))
	return b, err
}

// pool returns the model's number of the pool to allocate from.
func (r *modelRun) pool() int {
	if !r.v.pools || r.r.IntN(2) == 0 {
		return 0
	}
	var live []int
	for i, p := range r.pools {
		if p != nil {
			live = append(live, i)
		}
	}
	if len(live) < 3 {
		p := memory.NewPool(r.dev, memory.PoolOptions{})
		r.pools, r.ids = append(r.pools, p), append(r.ids, p.ID())
		return len(r.pools) - 1
	}
	return live[r.r.IntN(len(live))]
}

// release drops a private pool.
func (r *modelRun) release() {
	i := r.r.IntN(len(r.pools))
	if r.pools[i] == nil {
		return
	}
	r.what = fmt.Sprintf("releasing pool %d", i)
	r.m.Release(i)
	must(r.t, r.pools[i].Release())
	r.pools[i] = nil
}

func (r *modelRun) free(i int) {
	p := r.blocks[i]
	r.what = fmt.Sprintf("freeing %d bytes at %#x", p.real.Bytes, p.real.Addr)
	w := modelAwaited{addr: p.real.Addr, size: p.real.Bytes}
	for _, s := range r.streams {
		if r.drv.held(s) && r.m.Uses(p.want, r.names[s]) {
			w.on = append(w.on, s)
		}
	}
	if len(w.on) > 0 {
		r.freed = append(r.freed, w)
	}
	must(r.t, p.real.Free())
	r.m.Free(p.want)
	r.blocks = slices.Delete(r.blocks, i, i+1)
}

// turn holds a stream, or lets it go on.
func (r *modelRun) turn(s device.StreamID) {
	if r.drv.held(s) {
		r.what = fmt.Sprintf("stream %d goes on", r.names[s])
		r.drv.release(s)
		r.m.Done(r.names[s])
		return
	}
	r.what = fmt.Sprintf("stream %d is held", r.names[s])
	must(r.t, r.drv.gates[s].hold())
	r.m.Hold(r.names[s])
}

// apart checks that a new block is no part of one that is in use.
func (r *modelRun) apart(b memory.Block) {
	overlaps := func(addr uint64, size int64) bool { return b.Addr < addr+uint64(size) && addr < b.Addr+uint64(b.Bytes) }
	for _, p := range r.blocks {
		if overlaps(p.real.Addr, p.real.Bytes) {
			r.fail("%d bytes at %#x overlap %d at %#x", b.Bytes, b.Addr, p.real.Bytes, p.real.Addr)
		}
	}
	r.freed = slices.DeleteFunc(r.freed, func(w modelAwaited) bool { return !slices.ContainsFunc(w.on, r.drv.held) })
	for _, w := range r.freed {
		if overlaps(w.addr, w.size) {
			r.fail("%d bytes at %#x are reused before stream %v has done with them", b.Bytes, b.Addr, w.on)
		}
	}
}

// compare holds all that can be seen of the allocator against the model.
func (r *modelRun) compare() {
	r.drv.calls() // are not looked at, and many
	for _, s := range r.streams {
		if r.drv.held(s) != r.m.Holds(r.names[s]) {
			r.fail("stream %d was waited for: %v, want %v", r.names[s], !r.drv.held(s), !r.m.Holds(r.names[s]))
		}
		if !r.drv.held(s) {
			for i := range r.freed { // what it used may be reused from now on, also if it is held again
				r.freed[i].on = slices.DeleteFunc(r.freed[i].on, func(on device.StreamID) bool { return on == s })
			}
		}
	}
	stats := memory.StatsOf(r.dev)
	if got := sumsOf(stats); got != r.m.Sums {
		r.fail("figures (-want +got):\n%s", cmp.Diff(r.m.Sums, got))
	}
	segments := memory.SnapshotOf(r.dev.Kind, r.dev.Index).Segments
	if err := identities(stats, segments); err != nil {
		r.fail("%v", err)
	}
	r.layout(segments)
}

// layout compares the segments and blocks.
func (r *modelRun) layout(got []memory.Segment) {
	i := 0
	r.m.Layout(func(s *model.Segment, addr uint64, blocks []*model.Block) {
		if i >= len(got) {
			r.fail("no segment at %#x", addr)
		}
		g := got[i]
		i++
		if g.Address != addr || g.Small != s.Small || r.names[g.Stream] != s.Stream || g.Expandable != s.Expandable ||
			len(g.Blocks) != len(blocks) || g.Pool != r.ids[s.Pool] {
			r.fail("segment %+v, want one at %#x with %d blocks: %+v", g, addr, len(blocks), *s)
		}
		for j, b := range blocks {
			at, _ := b.Address()
			want := memory.BlockInfo{Address: at, Size: b.Size, Requested: b.Requested, State: memory.BlockState(b.State)}
			if h := g.Blocks[j]; h.Address != want.Address || h.Size != want.Size || h.Requested != want.Requested || h.State != want.State {
				r.fail("block %+v, want %+v", h, want)
			}
		}
	})
	if i != len(got) {
		r.fail("%d segments, want %d", len(got), i)
	}
}

// enough checks that the run came to everything that it is about.
func (r *modelRun) enough() {
	s := r.m.Sums
	if r.t.Failed() || testing.Short() || allocations.RaceDetector {
		return
	}
	if s.DeviceFrees == 0 || s.Syncs == 0 || r.v.limit > 0 && (s.OutOfMemory == 0 || s.Retries <= s.OutOfMemory) ||
		r.v.maxSplit > 0 && (s.OversizeAllocations.Freed == 0 || s.OversizeSegments.Freed == 0) {
		r.t.Errorf("too little happened to test anything: %+v", s)
	}
}

// sumsOf returns the figures as the model has them.
func sumsOf(s figures.Stats) model.Sums {
	stat := func(s figures.Stat) model.Stat { return model.Stat(s) }
	out := model.Sums{
		OversizeAllocations: stat(s.OversizeAllocations), OversizeSegments: stat(s.OversizeSegments),
		Retries: s.AllocRetries, OutOfMemory: s.OutOfMemory, Syncs: s.SyncAllStreams,
		DeviceAllocs: s.DeviceAllocs, DeviceFrees: s.DeviceFrees,
	}
	for i, m := range [model.NumMetrics]figures.Metric{
		s.Allocation, s.AllocatedBytes, s.RequestedBytes, s.Active, s.ActiveBytes,
		s.Segment, s.ReservedBytes, s.InactiveSplit, s.InactiveSplitBytes,
	} {
		out.Metrics[i] = model.Metric{stat(m.All), stat(m.Small), stat(m.Large)}
	}
	return out
}

// identities checks what is true of figures and segments at any moment (A29, A30).
func identities(s figures.Stats, segments []memory.Segment) error {
	var total, allocated, active, requested, count, unsplit int64
	last := uint64(0)
	for _, g := range segments {
		free, err := tiles(g)
		if err != nil {
			return err
		}
		if g.Address < last {
			return errors.New("segments are not in the order of their addresses")
		}
		last = g.Address
		if g.Expandable || len(g.Blocks) == 1 {
			unsplit += free
		}
		if !g.Expandable {
			count++
		}
		total += g.Total
		allocated += g.Allocated
		active += g.Active
		requested += g.Requested
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"reserved = segments", s.ReservedBytes.All.Current, total},
		{"allocated = segments' allocated", s.AllocatedBytes.All.Current, allocated},
		{"active = segments' active", s.ActiveBytes.All.Current, active},
		{"requested = segments' requested", s.RequestedBytes.All.Current, requested},
		{"segments", s.Segment.All.Current, count},
		{"reserved = active + inactive split + unsplit", s.ReservedBytes.All.Current,
			s.ActiveBytes.All.Current + s.InactiveSplitBytes.All.Current + unsplit},
	} {
		if c.got != c.want {
			return fmt.Errorf("%s: %d and %d", c.what, c.got, c.want)
		}
	}
	return sums(s)
}

// tiles checks that blocks tile their segment, and returns the bytes of free ones.
func tiles(g memory.Segment) (free int64, err error) {
	next := g.Address
	for _, b := range g.Blocks {
		if b.Address != next {
			return 0, fmt.Errorf("a block at %#x, want it at %#x: blocks tile their segment", b.Address, next)
		}
		next += uint64(b.Size)
		if b.State == memory.BlockInactive {
			free += b.Size
		}
	}
	if size := int64(next - g.Address); size != g.Total {
		return 0, fmt.Errorf("blocks of %d bytes in a segment of %d", size, g.Total)
	}
	return free, nil
}

// sums checks that figures are the sums of those of pools, and peaks the highest.
func sums(s figures.Stats) error {
	for i, m := range sumsOf(s).Metrics {
		all, small, large := m[0], m[1], m[2]
		if all.Current != small.Current+large.Current || all.Allocated != small.Allocated+large.Allocated || all.Freed != small.Freed+large.Freed {
			return fmt.Errorf("%s: all is not the sum of small and large: %+v", model.Names[i], m)
		}
		for _, v := range m {
			if v.Peak < v.Current {
				return fmt.Errorf("%s: a peak below the current value: %+v", model.Names[i], m)
			}
		}
	}
	return nil
}
