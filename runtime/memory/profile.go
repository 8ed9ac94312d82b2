package memory

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/runtime/device"
)

// A profile attributes the memory that the program holds on one device to where
// it was allocated. The trail's lock guards it.
//
// What each site held at the moment of the peak is found without visiting all of
// them: a site that has not changed since the peak holds now what it held then;
// one that is about to change notes it first.
type profile struct {
	sites map[*stack]*site
	held  int64 // bytes
	most  int64 // of held
	peaks int   // how often most has grown
}

// A site is one stack that allocated.
type site struct {
	live, atPeak tally
	noted        int // the peak, by number, that atPeak is of
}

type tally struct{ blocks, bytes int64 }

// grow notes that a block was allocated.
func (p *profile) grow(at *stack, bytes int64) *site {
	s := p.sites[at]
	if s == nil {
		if p.sites == nil {
			p.sites = map[*stack]*site{}
		}
		s = &site{noted: p.peaks}
		p.sites[at] = s
	}
	p.change(s, 1, bytes)
	return s
}

// shrink notes that a block was given back.
func (p *profile) shrink(s *site, bytes int64) { p.change(s, -1, -bytes) }

func (p *profile) change(s *site, blocks, bytes int64) {
	if s.noted != p.peaks {
		s.noted, s.atPeak = p.peaks, s.live
	}
	s.live.blocks += blocks
	s.live.bytes += bytes
	if p.held += bytes; p.held > p.most {
		p.most = p.held
		p.peaks++
	}
}

// peak returns what s held when the device's held bytes were most.
func (p *profile) peak(s *site) tally {
	if s.noted == p.peaks {
		return s.atPeak
	}
	return s.live
}

// A Site is a place in the program that allocated device memory, with what it
// holds: blocks, and bytes as asked for.
type Site struct {
	Device                device.Device
	Frames                []Frame // innermost first
	LiveBlocks, LiveBytes int64
	PeakBlocks, PeakBytes int64 // at the moment when the device's held bytes were most
}

// Profile makes the allocators of all devices keep where the memory comes from
// that the program holds, or stop that. Memory that was allocated before is not
// counted. Each allocation walks the Go stack meanwhile.
func Profile(on bool) { setWatch(func(w *watch) { w.profile = on }) }

// ProfileOf returns where the memory comes from that is held on a device, and
// that was held at the peak since Profile was turned on; most bytes first. Bytes are
// those asked for.
func ProfileOf(d device.Device) []Site {
	drainDropped(d)
	a := existing(d)
	if a == nil {
		return nil
	}
	t := &a.trail
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Site
	for at, s := range t.profile.sites {
		peak := t.profile.peak(s)
		if s.live == (tally{}) && peak == (tally{}) {
			continue
		}
		list = append(list, Site{
			Device: a.dev, Frames: at.frames(),
			LiveBlocks: s.live.blocks, LiveBytes: s.live.bytes, PeakBlocks: peak.blocks, PeakBytes: peak.bytes,
		})
	}
	slices.SortFunc(list, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.LiveBytes, a.LiveBytes), cmp.Compare(b.PeakBytes, a.PeakBytes), slices.CompareFunc(a.Frames, b.Frames, Frame.compare))
	})
	return list
}
