package memory

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

// hostPage is the host's page size as far as it matters here: a part of it, or it.
const hostPage = 4096

// A piece is page-locked memory and how it came about.
type piece struct {
	device.Memory
	registered bool // the program's own, locked
	cut        bool // a part of the reserve
}

// A reserve is memory that was locked at once, to cut blocks from.
type reserve struct {
	whole piece
	used  int64 // bytes cut off, from the front
	lent  int   // parts of it that are in no free list
}

// get returns bytes of page-locked memory: from the reserve, or from the driver.
func (p *pinnedCache) get(bytes int64, conf *settings.Pinned) (piece, error) {
	m, err := p.cut(bytes, conf)
	if err != nil || m.Host != nil {
		return m, err
	}
	return p.lock(bytes, conf)
}

// cut returns a part of the reserve, which is locked with the first; none where
// there is no reserve or no room in it.
func (p *pinnedCache) cut(bytes int64, conf *settings.Pinned) (piece, error) {
	if conf.Reserve == 0 || bytes > conf.Reserve {
		return piece{}, nil
	}
	p.reserving.Lock()
	defer p.reserving.Unlock()
	p.mu.Lock()
	missing := p.reserve.whole.Host == nil
	p.mu.Unlock()
	if missing {
		whole, err := p.lock(conf.Reserve, conf)
		if err != nil {
			return piece{}, err
		}
		p.mu.Lock()
		p.reserve = reserve{whole: whole}
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.reserve
	if bytes > r.whole.Bytes-r.used {
		return piece{}, nil
	}
	m := piece{device.Memory{Host: unsafe.Add(r.whole.Host, r.used), Bytes: bytes}, false, true}
	r.used += (bytes + unit - 1) &^ (unit - 1)
	r.lent++
	return m, nil
}

// lock gets page-locked memory from the driver.
func (p *pinnedCache) lock(bytes int64, conf *settings.Pinned) (piece, error) {
	start := time.Now()
	m, err := p.lockNew(bytes, conf)
	took := time.Since(start)
	if err != nil {
		return m, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.AllocTime.Add(took)
	return m, nil
}

func (p *pinnedCache) lockNew(bytes int64, conf *settings.Pinned) (piece, error) {
	registrar, ok := p.drv.(device.HostRegistrar)
	if !conf.Register || !ok {
		m, err := p.drv.AllocHost(bytes)
		return piece{Memory: m}, err
	}
	data := make([]byte, bytes+hostPage)
	skip := -uintptr(unsafe.Pointer(&data[0])) & (hostPage - 1)
	data = data[skip:][:bytes:bytes]
	touch(data, conf.Threads)
	m := device.Memory{Host: unsafe.Pointer(&data[0]), Bytes: bytes}
	return piece{m, true, false}, registrar.RegisterHost(m)
}

// touch makes the system find pages for data, by several goroutines: locking them
// then takes less.
func touch(data []byte, goroutines int) {
	var wg sync.WaitGroup
	part := (len(data)/goroutines + hostPage) / hostPage * hostPage
	for part := range slices.Chunk(data, part) {
		wg.Go(func() {
			for i := 0; i < len(part); i += hostPage {
				part[i] = 0
			}
		})
	}
	wg.Wait()
}

// unlock gives a piece that is no part of the reserve back.
func (p *pinnedCache) unlock(m piece) error {
	start := time.Now()
	var err error
	if m.registered {
		err = p.drv.(device.HostRegistrar).UnregisterHost(m.Memory)
	} else {
		err = p.drv.FreeHost(m.Memory)
	}
	took := time.Since(start)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.FreeTime.Add(took)
	return err
}

// release gives the blocks that are free back to the driver, and the reserve if no
// block of it is in use, unless a capture is under way.
func (p *pinnedCache) release() error {
	p.mu.Lock()
	devices := p.devices()
	p.mu.Unlock()
	for _, dev := range devices {
		p.poll(dev)
	}
	p.mu.Lock()
	if p.capturing > 0 {
		p.mu.Unlock()
		return nil
	}
	var reserved piece
	whole := p.reserve.lent == 0 && p.reserve.whole.Host != nil
	if whole {
		reserved, p.reserve = p.reserve.whole, reserve{}
	}
	gone := p.doomed
	p.doomed = nil
	for class, free := range p.free {
		p.free[class] = slices.DeleteFunc(free, func(b *pinned) bool {
			if b.memory.cut && !whole {
				return false
			}
			gone = append(gone, b)
			return true
		})
	}
	p.mu.Unlock()
	err := p.discard(gone)
	if !whole {
		return err
	}
	return errors.Join(err, p.unlock(reserved))
}

// discard gives blocks back to the driver that are on no list any more.
func (p *pinnedCache) discard(gone []*pinned) error {
	var errs []error
	for _, b := range gone {
		if !b.memory.cut {
			errs = append(errs, p.unlock(b.memory))
		}
		p.mu.Lock()
		p.stats.Allocations.Shrink(1)
		p.stats.AllocatedBytes.Shrink(b.memory.Bytes)
		p.mu.Unlock()
	}
	return errors.Join(errs...)
}

// takeDoomed returns the blocks that are too large to keep. The caller holds p.mu
// and hands them to discard without it.
func (p *pinnedCache) takeDoomed() []*pinned {
	if p.capturing > 0 {
		return nil
	}
	gone := p.doomed
	p.doomed = nil
	return gone
}

// watch waits for copies of a device while there are any, so that their blocks are reusable
// without an allocation having to look.
func (p *pinnedCache) watch(dev int) {
	for {
		p.poll(dev)
		p.mu.Lock()
		u := p.uses[dev]
		gone := p.takeDoomed()
		if len(u.waiting) == 0 || p.capturing > 0 {
			u.watching = false
			p.mu.Unlock()
			p.note(p.discard(gone))
			return
		}
		first := u.waiting[0]
		p.mu.Unlock()
		p.note(p.discard(gone))
		if err := p.drv.SyncEvent(background, dev, first.event); err != nil {
			p.note(fmt.Errorf("waiting for copies of pinned memory: %w", err))
			p.mu.Lock()
			u.watching = false
			p.mu.Unlock()
			return
		}
	}
}

// note keeps an error for the next allocation to return.
func (p *pinnedCache) note(err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = errors.Join(p.late, err)
}
