package dist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/shm"
	"github.com/sinter-go/sinter/runtime/stream"
)

// ErrGone is wrapped when the process that shared a tensor has ended or closed it.
const ErrGone ir.Error = "the process that shared the tensor is gone"

// A Shared is a tensor whose memory several processes of one machine have: on a GPU, on the
// CPU, or on a simulated accelerator. One process makes it with Share and hands its name to
// others, which open it. All see what any of them writes. Programs order their accesses: what
// the maker gave a stream before Record, an opener sees after Wait.
//
// The memory is the maker's. It keeps the Shared open until the others have opened theirs, and
// runs until they are done: closing waits for nobody, the memory goes back when no process has
// it open. Where the maker ends before, Tensor, Wait and OpenShared return errors that wrap
// ErrGone; results of work that is under way then mean nothing.
type Shared struct {
	tensor tensor.Tensor
	maker  bool
	page   *shm.File // what openers read; its lock is held by the maker
	event  *sharedEvent
	mu     sync.Mutex
	closed bool
}

// A page is what the maker tells the openers.
type page struct {
	Kind   device.Kind
	DType  string
	Shape  []int
	Memory []byte // handle
	Event  []byte // handle; empty where the host waits
	Users  string // the file whose lock the openers share
}

// A sharedEvent marks a place in the maker's streams.
type sharedEvent struct {
	driver device.Driver
	device device.Device
	id     device.EventID
}

// Share returns a shared tensor with a copy of t's elements, on t's device. t goes its own way.
func Share(t tensor.Tensor) (*Shared, error) {
	s, err := share(t)
	if err != nil {
		return nil, fmt.Errorf("dist: Share: %w", err)
	}
	return s, nil
}

func share(t tensor.Tensor) (*Shared, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	dev, drv, err := device.Find(t.Device())
	if err != nil {
		return nil, err
	}
	on, ok := drv.(device.Sharer)
	if !ok || t.NumElements() == 0 {
		return nil, fmt.Errorf("%w: a tensor of %d elements on %s cannot be shared", ErrCall, t.NumElements(), dev)
	}
	m, handle, err := on.AllocShared(dev.Index, int64(t.NumElements()*t.DType().Size()))
	if err != nil {
		return nil, err
	}
	users, err := shm.Publish(nil)
	if err != nil {
		return nil, errors.Join(err, on.FreeShared(dev.Index, m))
	}
	own := func() error { leave(&limbo{on, dev.Index, m, users}); return nil }
	s := &Shared{maker: true}
	if s.tensor, err = adopt(dev, m, own, t.DType(), t.Shape()); err != nil {
		return nil, err
	}
	p := page{Kind: dev.Kind, DType: t.DType().String(), Shape: t.Shape(), Memory: handle, Users: users.Name}
	err = tensor.NoGrad(func() error { return s.tensor.CopyFrom(t.Detach()) })
	if err == nil {
		p.Event, err = s.newEvent(drv, dev)
	}
	if err == nil {
		err = s.publish(&p)
	}
	if err == nil {
		err = s.Record()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// adopt returns a tensor that owns memory, which give takes back, and that no scope releases.
func adopt(dev device.Device, m device.Memory, give func() error, dt ir.DType, shape []int) (t tensor.Tensor, err error) {
	b, err := memory.Foreign(dev, m, give)
	if err != nil {
		return t, errors.Join(err, give())
	}
	core.OutsideScope(func() {
		var h *core.Tensor
		if h, err = core.FromBlock(b, dt, shape); err == nil {
			t = tensor.Wrap(h)
		}
	})
	return t, err
}

// newEvent makes the event that openers wait for, where the device's are shared.
func (s *Shared) newEvent(drv device.Driver, dev device.Device) ([]byte, error) {
	on, ok := drv.(device.EventSharer)
	if !ok {
		return nil, nil
	}
	id, handle, err := on.NewSharedEvent(dev.Index)
	if err == nil {
		s.event = &sharedEvent{drv, dev, id}
	}
	return handle, err
}

// publish shows the page to others, locked while this process has it.
func (s *Shared) publish(p *page) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if s.page, err = shm.Publish(content); err != nil {
		return err
	}
	if ok, err := s.page.Lock(true); err != nil || !ok {
		return fmt.Errorf("the page is locked: %t: %w", !ok, err)
	}
	return nil
}

// Name returns what OpenShared of another process of this machine is given.
func (s *Shared) Name() string {
	if s == nil || s.page == nil {
		return ""
	}
	return s.page.Name
}

// OpenShared opens a tensor that another process of this machine and of the same user shared,
// by its name.
func OpenShared(name string) (*Shared, error) {
	s, err := openShared(name)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil, fmt.Errorf("dist: OpenShared: %w", err)
}

func openShared(name string) (*Shared, error) {
	if shm.Process(name) == os.Getpid() {
		return nil, fmt.Errorf("%w: this process shared %s; it has the tensor", ErrCall, name)
	}
	file, content, err := shm.Find(name)
	if err != nil {
		return nil, err
	}
	s := &Shared{page: file}
	var p page
	if err = json.Unmarshal(content, &p); err == nil {
		err = s.alive()
	}
	if err == nil {
		err = s.open(&p)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open opens what a page tells of.
func (s *Shared) open(p *page) error {
	dtype, err := ir.ParseDType(p.DType)
	if err != nil || ir.CheckShape(p.Shape) != nil || ir.NumElements(p.Shape) == 0 {
		return fmt.Errorf("%w: a tensor of %s %v", ErrCall, p.DType, p.Shape)
	}
	drv, err := device.DriverOf(p.Kind)
	if err != nil {
		return err
	}
	on, ok := drv.(device.Sharer)
	if !ok {
		return fmt.Errorf("%w: memory of %s devices cannot be shared", ErrCall, p.Kind)
	}
	users, _, err := shm.Find(p.Users)
	if err != nil {
		return err
	}
	if ok, err := users.Lock(false); err != nil || !ok {
		return errors.Join(ErrGone, err, users.Close())
	}
	index, m, err := on.OpenShared(p.Memory, int64(ir.NumElements(p.Shape)*dtype.Size()))
	if err != nil {
		return errors.Join(err, users.Close())
	}
	dev := device.Device{Kind: p.Kind, Index: index}
	give := func() error { return errors.Join(on.FreeShared(index, m), users.Close()) }
	if s.tensor, err = adopt(dev, m, give, dtype, p.Shape); err != nil || len(p.Event) == 0 {
		return err
	}
	events, ok := drv.(device.EventSharer)
	if !ok {
		return fmt.Errorf("%w: events of %s devices cannot be shared", ErrCall, p.Kind)
	}
	id, err := events.OpenSharedEvent(index, p.Event)
	if err == nil {
		s.event = &sharedEvent{drv, dev, id}
	}
	return err
}

// alive returns an error where the maker has closed the tensor or ended: then nobody has
// the lock of its page.
func (s *Shared) alive() error {
	if s.maker {
		return nil
	}
	switch free, err := s.page.Lock(false); {
	case err != nil:
		return err
	case free:
		return errors.Join(fmt.Errorf("%w: process %d", ErrGone, shm.Process(s.page.Name)), s.page.Unlock())
	}
	return nil
}

// usable returns why the tensor cannot be used. The caller holds mu.
func (s *Shared) usable() error {
	if s.closed || s.page == nil {
		return fmt.Errorf("%w: the tensor is closed here", ErrCall)
	}
	return s.alive()
}

var errUnmadeShared = fmt.Errorf("dist: %w: a nil *dist.Shared; Share and OpenShared make one", ErrCall)

// Tensor returns a handle on the elements. The memory stays while any handle, view or saved
// value has it.
func (s *Shared) Tensor() tensor.Tensor {
	if s == nil {
		return tensor.Wrap(core.Failed(errUnmadeShared))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return tensor.Wrap(core.Failed(fmt.Errorf("dist: Shared: %w", err)))
	}
	return s.tensor.Detach()
}

// Record marks what the calling goroutine's current stream was given so far: an opener that
// calls Wait afterwards has its own stream wait for that. The maker calls it. Where devices
// share no events, it waits itself.
func (s *Shared) Record() error {
	return s.mark("Record", true, func() error {
		on := stream.Current(s.tensor.Device())
		if s.event == nil {
			return on.Synchronize(context.Background())
		}
		return s.event.driver.RecordEvent(s.event.device.Index, s.event.id, on.ID())
	})
}

// Wait has the calling goroutine's current stream wait for what the maker recorded last. An
// opener calls it.
func (s *Shared) Wait() error {
	return s.mark("Wait", false, func() error {
		if s.event == nil {
			return nil
		}
		d := s.event.device
		return s.event.driver.WaitEvent(d.Index, stream.Current(d).ID(), d.Index, s.event.id)
	})
}

// mark calls f for the maker or for an opener.
func (s *Shared) mark(what string, maker bool, f func() error) error {
	if s == nil {
		return errUnmadeShared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.usable()
	if err == nil && s.maker != maker {
		err = fmt.Errorf("%w: the process that shared the tensor calls Record, others call Wait", ErrCall)
	}
	if err == nil {
		err = f()
	}
	if err != nil {
		return fmt.Errorf("dist: Shared: %s: %w", what, err)
	}
	return nil
}

// Close gives up what this process has of the tensor. Memory that handles keep stays until they go.
// Closing twice does nothing.
func (s *Shared) Close() error {
	if s == nil {
		return errUnmadeShared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	if s.event != nil {
		errs = append(errs, s.event.driver.DestroyEvent(s.event.device.Index, s.event.id))
	}
	if s.tensor != (tensor.Tensor{}) {
		s.tensor.Release()
	}
	if s.page != nil {
		errs = append(errs, s.page.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("dist: Shared: Close: %w", err)
	}
	return nil
}
