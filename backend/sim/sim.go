// Package sim provides simulated accelerators: devices with memory of their own,
// asynchronous streams, events and peer access, whose kernels are run by the
// reference backend. They behave as GPUs do where a program can tell, so that
// everything about devices is tested on machines without one. The package knows
// nothing of tensors.
//
//	device.Install(sim.New(sim.Config{Devices: 2, Async: true}))
//	x = tensor.Randn([]int{64, 64}, tensor.On(device.Sim(1)))
//	y = x.MatMul(x)              // returns before it is done
//	mean, err := y.Mean().Item() // waits for it
//	if err != nil {
//		return err
//	}
//	fmt.Println(mean)
//
// Device memory has addresses that mean nothing to the host: a range for each
// device, in which no address is used twice, so that memory of another device
// and memory that was freed are told apart from valid memory.
package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/sinter-go/sinter/backend/ref"
	kernels "github.com/sinter-go/sinter/generated/ref"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/fftplans"
)

// DefaultMemory is a device's capacity in bytes unless Config says otherwise.
const DefaultMemory = 1 << 30

// MaxDevices is how many devices a driver simulates at most.
const MaxDevices = 4096

// A Config says what devices to simulate.
type Config struct {
	Devices int         // at most MaxDevices; of more there are as many
	Memory  int64       // bytes of each device; 0: DefaultMemory
	Kind    device.Kind // the kind to stand for; 0: device.KindSim
	// Peer says whether device dev can access the memory of peer; nil: every
	// device that of every other.
	Peer func(dev, peer int) bool
	// Async lets calls return before their work is done. Without it a call
	// returns when its work is done, with the work's error.
	Async bool
	// Delay is how long a stream waits before each copy and kernel.
	Delay time.Duration
	// AnyOrder has recorded work run in any order that is one of its, another one each time, as a
	// device may whose branches share a queue. Without it the order is that of recording.
	AnyOrder bool
	// Queues is how many queues each device has for the work of its streams, which take them in
	// turn: work waits for all that was given to its queue before, on whatever stream, as on a
	// device with more streams than CUDA_DEVICE_MAX_CONNECTIONS. 0: a queue for each stream.
	Queues int
	// Backlog is how many pieces of work that are not done a stream has at most: a call that gives it
	// more waits. While it does, other calls that name memory, events or streams of the device wait for it,
	// of copies between devices, too, as a GPU's driver lets nobody else at a device meanwhile. 0: no bound.
	Backlog int
	// Run computes a call whose views are in host memory; nil: the reference interpreter
	// does, which is right to more digits than a device's kernels and a hundred times slower.
	Run func(c *ir.Call) error
	// ChannelsLast has devices ask for images whose channels are last in memory, as if
	// convolutions copied others.
	ChannelsLast bool
}

// A Driver provides simulated devices. It implements device.Driver; any
// goroutine may make any call at any time.
type Driver struct {
	config    Config
	devices   []*accelerator
	capturing captures

	mu      sync.Mutex // guards what follows
	streams map[device.StreamID]*stream
	ending  []*stream // destroyed, perhaps with work that is not done
	events  map[device.EventID]*event
	nextID  uint64 // of streams, events and captures
}

var (
	_ device.Driver   = (*Driver)(nil)
	_ device.Reporter = (*Driver)(nil)
	_ device.Arranger = (*Driver)(nil)
)

// An accelerator is one simulated device.
type accelerator struct {
	driver   *Driver
	index    int
	memory   memory
	first    *stream  // the default stream
	queues   []*queue // that streams share; none: each has its own
	fftPlans *fftplans.Cache
	giving   sync.Mutex // held by who gives it work, with Config.Backlog

	mu     sync.Mutex // guards what follows
	lost   error      // why it cannot be used any more, or nil
	peers  map[int]bool
	counts Counters
	faults []fault
	made   int // streams so far
}

// standard makes the reference's kernels of the standard operators known.
var standard = sync.OnceFunc(func() { ref.Provide(kernels.Kernels()) })

// New returns a driver for the devices in c.
func New(c Config) *Driver {
	standard()
	if c.Memory <= 0 {
		c.Memory = DefaultMemory
	}
	if c.Kind == device.KindCPU {
		c.Kind = device.KindSim
	}
	if c.Run == nil {
		c.Run = ref.Run
	}
	d := &Driver{config: c, streams: map[device.StreamID]*stream{}, events: map[device.EventID]*event{}}
	for i := range min(c.Devices, MaxDevices) {
		a := &accelerator{driver: d, index: i, fftPlans: fftplans.New(fftplans.DefaultMax), peers: map[int]bool{}}
		a.memory.init(i, c.Memory)
		a.first = &stream{dev: a, queue: a.nextQueue()}
		d.devices = append(d.devices, a)
	}
	return d
}

// Kind returns the kind of device that the driver stands for.
func (d *Driver) Kind() device.Kind {
	if d == nil {
		return Config{}.Kind
	}
	return d.config.Kind
}

// DeviceCount returns how many devices are simulated.
func (d *Driver) DeviceCount() (int, error) {
	if d == nil || len(d.devices) == 0 {
		return 0, fmt.Errorf("no device is simulated")
	}
	return len(d.devices), nil
}

// Properties describes a device.
func (d *Driver) Properties(dev int) (device.Properties, error) {
	a, err := d.device(dev)
	if err != nil {
		return device.Properties{}, err
	}
	return device.Properties{
		Name: "Simulated accelerator", TotalMemory: a.memory.capacity, UUID: fmt.Sprintf("SIM-%d", dev),
	}, nil
}

// device returns a device by its index.
func (d *Driver) device(dev int) (*accelerator, error) {
	if d == nil {
		return nil, fmt.Errorf("%w: a nil *sim.Driver; New makes one", device.ErrUnavailable)
	}
	if dev < 0 || dev >= len(d.devices) {
		return nil, fmt.Errorf("%w: %s: %d devices are simulated", device.ErrUnavailable, d.name(dev), len(d.devices))
	}
	return d.devices[dev], nil
}

// name returns the device string of a device.
func (d *Driver) name(dev int) string { return device.Device{Kind: d.config.Kind, Index: dev}.String() }

func (a *accelerator) String() string { return a.driver.name(a.index) }

// lose makes the device useless. Of several reasons the first counts.
func (a *accelerator) lose(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost == nil {
		a.lost = fmt.Errorf("%w: %s: %w", device.ErrLost, a, why)
	}
}

// usable returns why the device was lost, or nil.
func (a *accelerator) usable() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// working returns a device that was not lost.
func (d *Driver) working(dev int) (*accelerator, error) {
	a, err := d.device(dev)
	if err == nil {
		err = a.usable()
	}
	return a, err
}

// CanAccessPeer reports whether dev can read and write peer's memory.
func (d *Driver) CanAccessPeer(dev, peer int) bool {
	_, err := d.device(dev)
	_, peerErr := d.device(peer)
	if err != nil || peerErr != nil || dev == peer {
		return false
	}
	return d.config.Peer == nil || d.config.Peer(dev, peer)
}

// EnablePeerAccess lets dev's kernels read and write peer's memory. Doing so
// again is no error.
func (d *Driver) EnablePeerAccess(dev, peer int) error {
	a, err := d.working(dev)
	if err != nil {
		return err
	}
	if !d.CanAccessPeer(dev, peer) {
		return fmt.Errorf("%s cannot access the memory of %s", a, d.name(peer))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peers[peer] = true
	return nil
}

func (a *accelerator) accesses(peer int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peers[peer]
}
