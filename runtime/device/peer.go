package device

import (
	"fmt"
	"sync"
)

// A pair is two devices of a driver, of which the first may use the second's memory.
type pair struct {
	drv       Driver
	dev, peer int
}

// peering is what is known of pairs: which were looked at, and which the
// program allowed to work together.
var peering struct {
	mu      sync.RWMutex
	open    map[pair]bool // asked of the driver once: whether kernels of dev reach peer
	allowed map[pair]bool
}

// forget drops what is known of a driver's devices.
func forget(drv Driver) {
	peering.mu.Lock()
	defer peering.mu.Unlock()
	for _, known := range []map[pair]bool{peering.open, peering.allowed} {
		for p := range known {
			if p.drv == drv {
				delete(known, p)
			}
		}
	}
}

// OpenPeer lets kernels of dev use memory of peer, another device of the same
// driver, where the machine can, and reports whether they may. The driver is asked
// once a pair. It is no permission for operators whose operands are on both:
// see EnablePeerAccess.
func OpenPeer(drv Driver, dev, peer int) bool {
	if drv == nil {
		return false
	}
	key := pair{drv, dev, peer}
	peering.mu.RLock()
	open, known := peering.open[key]
	peering.mu.RUnlock()
	if known {
		return open
	}
	open = drv.CanAccessPeer(dev, peer) && drv.EnablePeerAccess(dev, peer) == nil
	peering.mu.Lock()
	defer peering.mu.Unlock()
	if peering.open == nil {
		peering.open = map[pair]bool{}
	}
	peering.open[key] = open
	return open
}

// EnablePeerAccess lets each of two devices use the other's memory, so that
// element-wise operators take operands on both; the result is on the first
// operand's. Other operators still refuse. It is an error where the machine has no
// such access, and no error to enable it again.
func EnablePeerAccess(a, b Device) error {
	a, b, drv, err := findPair(a, b)
	if err != nil {
		return err
	}
	for _, p := range [...]pair{{drv, a.Index, b.Index}, {drv, b.Index, a.Index}} {
		if !drv.CanAccessPeer(p.dev, p.peer) {
			return fmt.Errorf("%w: %s:%d cannot use the memory of %s:%d: this machine has no peer access between them",
				ErrUnavailable, a.Kind, p.dev, a.Kind, p.peer)
		}
		if err := drv.EnablePeerAccess(p.dev, p.peer); err != nil {
			return err
		}
	}
	allow(drv, a, b, true)
	return nil
}

// DisablePeerAccess makes operators refuse operands on both devices again. Copies
// between them still go the direct way.
func DisablePeerAccess(a, b Device) error {
	a, b, drv, err := findPair(a, b)
	if err == nil {
		allow(drv, a, b, false)
	}
	return err
}

func allow(drv Driver, a, b Device, may bool) {
	peering.mu.Lock()
	defer peering.mu.Unlock()
	if peering.allowed == nil {
		peering.allowed = map[pair]bool{}
	}
	for _, p := range [...]pair{{drv, a.Index, b.Index}, {drv, b.Index, a.Index}} {
		if may {
			peering.allowed[p] = true
		} else {
			delete(peering.allowed, p)
		}
	}
}

// PeerAccessEnabled reports whether EnablePeerAccess let operators take operands on
// both devices, which have indices.
func PeerAccessEnabled(a, b Device) bool {
	if a.Kind != b.Kind {
		return false
	}
	drv, err := DriverOf(a.Kind)
	if err != nil {
		return false
	}
	peering.mu.RLock()
	defer peering.mu.RUnlock()
	return peering.allowed[pair{drv, a.Index, b.Index}]
}

// findPair resolves two accelerators of one kind.
func findPair(a, b Device) (Device, Device, Driver, error) {
	a, drv, err := Find(a)
	if err != nil {
		return a, b, nil, err
	}
	if b, _, err = Find(b); err != nil {
		return a, b, nil, err
	}
	if !a.Accelerator() || a.Kind != b.Kind || a == b {
		return a, b, nil, fmt.Errorf("%w: peer access is between two accelerators of one kind, not %s and %s", ErrInvalid, a, b)
	}
	return a, b, drv, nil
}
