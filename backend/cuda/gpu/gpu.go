// Package gpu provides NVIDIA GPUs as devices: it answers the calls of
// device.Driver with those of the CUDA driver. It knows nothing of operators,
// whose launches package launch makes, or of how memory is reused.
//
// Importing the package and making a Driver call nothing: the CUDA driver is
// opened when a device is asked for. A machine without one has no devices, and
// DeviceCount says why.
package gpu

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/launch"
	"github.com/sinter-go/sinter/backend/cuda/module"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/fftplans"
	"github.com/sinter-go/sinter/runtime/memory"
)

// Driver is the GPUs' device.Driver. The zero Driver is ready for use.
type Driver struct {
	opened sync.Once
	open   func() (driver.API, error) // nil: driver.Open
	api    driver.API
	err    error // why there is no api
	loader *module.Loader
	gpus   []gpu

	home    atomic.Int64 // 1 + the device whose context page-locked memory is made in; 0 before the first
	pinned  pinnedSet
	staging staging

	captures captures
	foreign  foreign
}

// A gpu is one device and what was made for it.
type gpu struct {
	launcher atomic.Pointer[launch.Device]
	states   streamStates
	fftPlans *fftplans.Cache
	lost     atomic.Pointer[error] // why it cannot be used any more, or nil
	peers    sync.Map              // ordinals that it was given access to
	mapped   mapped
	retired  retired
	recorder *recorder // nil before the first call whose attributes change in a recording
	mu       sync.Mutex
}

var (
	_ device.Driver   = (*Driver)(nil)
	_ device.Reporter = (*Driver)(nil)
)

// Kind returns device.KindCUDA.
func (*Driver) Kind() device.Kind { return device.KindCUDA }

// get opens the CUDA driver with the first call.
func (d *Driver) get() (driver.API, error) {
	d.opened.Do(func() {
		open := d.open
		if open == nil {
			open = driver.Open
		}
		if d.api, d.err = open(); d.err == nil {
			d.loader = module.New(d.api, d.retire)
			d.gpus = make([]gpu, d.api.DeviceCount())
			for i := range d.gpus {
				d.gpus[i].states.init()
				d.gpus[i].fftPlans = fftplans.New(fftplans.DefaultMax)
			}
		}
	})
	return d.api, d.err
}

// known is get for a call about a device that there is.
func (d *Driver) known(dev int) (driver.API, error) {
	api, err := d.get()
	if err != nil {
		return nil, fmt.Errorf("%w: cuda:%d: %w", device.ErrUnavailable, dev, err)
	}
	if uint(dev) >= uint(len(d.gpus)) {
		return nil, fmt.Errorf("%w: cuda:%d: this process sees %d cuda devices", device.ErrInvalid, dev, len(d.gpus))
	}
	return api, nil
}

// use is known for a call on a device, which was not lost.
func (d *Driver) use(dev int) (driver.API, error) {
	api, err := d.known(dev)
	if err != nil {
		return nil, err
	}
	if lost := d.gpus[dev].lost.Load(); lost != nil {
		return nil, *lost
	}
	if d.home.Load() == 0 {
		d.home.CompareAndSwap(0, int64(dev)+1)
	}
	return api, nil
}

// DeviceCount returns how many GPUs the process sees. It makes no context.
func (d *Driver) DeviceCount() (int, error) {
	if _, err := d.get(); err != nil {
		return 0, err
	}
	return len(d.gpus), nil
}

// Properties describes a GPU. It makes no context.
func (d *Driver) Properties(dev int) (p device.Properties, err error) {
	api, err := d.get()
	if err != nil {
		return p, err
	}
	if p.Name, err = api.DeviceName(dev); err != nil {
		return p, err
	}
	if p.TotalMemory, err = api.DeviceTotalMem(dev); err != nil {
		return p, err
	}
	for _, a := range []struct {
		attribute driver.Attribute
		value     *int
	}{
		{driver.ComputeCapabilityMajor, &p.Major}, {driver.ComputeCapabilityMinor, &p.Minor},
		{driver.Multiprocessors, &p.Multiprocessors},
	} {
		if *a.value, err = api.DeviceAttribute(dev, a.attribute); err != nil {
			return p, err
		}
	}
	id, err := api.DeviceUUID(dev)
	if err != nil {
		return p, err
	}
	p.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	return p, nil
}

// MemoryInfo returns the GPU's free and total bytes.
func (d *Driver) MemoryInfo(dev int) (free, total int64, err error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, 0, err
	}
	free, total, err = api.MemGetInfo(dev)
	return free, total, d.failed(dev, err)
}

// Alloc returns memory of the CUDA driver.
func (d *Driver) Alloc(dev int, bytes int64) (device.Memory, error) {
	api, err := d.use(dev)
	if err != nil {
		return device.Memory{}, err
	}
	p, err := api.MemAlloc(dev, bytes)
	if err != nil {
		return device.Memory{}, noRoom(d.failed(dev, err))
	}
	return device.Memory{Addr: uint64(p), Bytes: bytes}, nil
}

// noRoom makes the driver's word for it wrap device.ErrOutOfMemory.
func noRoom(err error) error {
	if errors.Is(err, driver.OutOfMemory) {
		return fmt.Errorf("%w: %w", device.ErrOutOfMemory, err)
	}
	return err
}

// Free returns memory to the CUDA driver, which waits for the device.
func (d *Driver) Free(dev int, m device.Memory) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	return d.failed(dev, api.MemFree(dev, driver.Ptr(m.Addr)))
}

// AllocHost returns memory that is page-locked for every GPU.
func (d *Driver) AllocHost(bytes int64) (device.Memory, error) {
	p, dev, err := d.allocHost(d.homeDevice(), bytes, driver.HostPortable)
	if err != nil {
		return device.Memory{}, err
	}
	d.pinned.add(span{p, bytes, dev, false})
	return device.Memory{Host: p, Bytes: bytes}, nil
}

// homeDevice returns the device in whose context page-locked memory is made: the
// one used first, or where it was lost another.
func (d *Driver) homeDevice() int {
	home := max(0, int(d.home.Load())-1)
	if _, err := d.get(); err != nil || home >= len(d.gpus) || d.gpus[home].lost.Load() == nil {
		return home
	}
	for i := range d.gpus {
		if d.gpus[i].lost.Load() == nil {
			d.home.Store(int64(i) + 1)
			return i
		}
	}
	return home
}

// allocHost makes page-locked memory in the context of a device.
func (d *Driver) allocHost(dev int, bytes int64, flags driver.HostFlags) (unsafe.Pointer, int, error) {
	api, err := d.use(dev)
	if err != nil {
		return nil, dev, err
	}
	p, err := api.MemHostAlloc(dev, bytes, flags)
	if err != nil {
		return nil, dev, noRoom(d.failed(dev, err))
	}
	return p, dev, nil
}

// FreeHost returns page-locked memory.
func (d *Driver) FreeHost(m device.Memory) error {
	dev, known := d.pinned.remove(m.Host)
	if !known {
		return fmt.Errorf("%w: memory at %p is no page-locked block", device.ErrInvalid, m.Host)
	}
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	return d.failed(dev, api.MemFreeHost(dev, m.Host))
}

// CanAccessPeer reports whether dev can read and write peer's memory.
func (d *Driver) CanAccessPeer(dev, peer int) bool {
	api, err := d.get()
	if err != nil {
		return false
	}
	can, err := api.CanAccessPeer(dev, peer)
	return err == nil && can
}

// EnablePeerAccess lets work of dev use peer's memory.
func (d *Driver) EnablePeerAccess(dev, peer int) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	if _, done := d.gpus[dev].peers.Load(peer); done {
		return nil
	}
	if err := api.EnablePeerAccess(dev, peer); err != nil {
		return d.failed(dev, err)
	}
	d.gpus[dev].peers.Store(peer, true)
	return d.shareMapped(api, dev, peer)
}

// Launch enqueues the kernels of c.
func (d *Driver) Launch(dev int, s device.StreamID, c *ir.Call) error {
	if d.captures.under.Load() != 0 {
		if done, err := d.captureCall(dev, s, c); done || err != nil {
			return err
		}
	}
	if uint(dev) < uint(len(d.gpus)) {
		if g := &d.gpus[dev]; g.launcher.Load() != nil {
			return d.start(g, dev, s, c)
		}
	}
	if err := d.prepare(dev); err != nil {
		return err
	}
	return d.start(&d.gpus[dev], dev, s, c)
}

// start enqueues the kernels of c on a device that has a launcher.
func (d *Driver) start(g *gpu, dev int, s device.StreamID, c *ir.Call) error {
	if err := g.note(dev, s, c); err != nil {
		return err
	}
	if err := g.launcher.Load().Run(driver.Stream(s), c); err != nil {
		return d.failed(dev, err)
	}
	return nil
}

// note notes that a stream is to run c, which is given the device's plans.
func (g *gpu) note(dev int, s device.StreamID, c *ir.Call) error {
	of := g.states.of(s)
	if of.gone.Load() {
		return destroyed(dev, s)
	}
	of.flight.Note(launch.Noted(c.Kernel))
	if of.abroad {
		g.retired.hold(launch.LeaseOf(c.Kernel))
	}
	if c.Op.Kind == ir.Opaque {
		c.FFTPlans = g.fftPlans
	}
	return nil
}

// prepare makes what launches on a device need.
func (d *Driver) prepare(dev int) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	g := &d.gpus[dev]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.launcher.Load() != nil {
		return nil
	}
	if err := d.makeRecords(dev); err != nil {
		return err
	}
	l, err := launch.New(api, dev, d.loader, scratch{d})
	if err != nil {
		return d.failed(dev, err)
	}
	g.launcher.Store(l)
	return nil
}

// scratch is the memory that launches take from the caching allocator.
type scratch struct{ d *Driver }

func (s scratch) Scratch(dev int, on driver.Stream, bytes int64) (memory.Block, error) {
	return memory.Alloc(device.CUDA(dev), s.d, device.StreamID(on), bytes)
}
