// Package pprof writes where device memory comes from as a profile that go tool
// pprof reads: blocks and bytes, live and at the peak, with Go stacks. It knows
// nothing of allocators.
//
//	memory.Profile(true) // from here on
//	if err := step(images, labels); err != nil {
//		return err
//	}
//	file, err := os.Create("memory.pb.gz")
//	if err != nil {
//		return err
//	}
//	defer file.Close()
//	return pprof.Write(file, memory.ProfileOf(device.Best())) // go tool pprof memory.pb.gz
package pprof

import (
	"errors"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/sinter-go/sinter/runtime/memory"
)

// Name is the profile's name. It is what a server should list it under.
const Name = "sinter.device"

// Write writes the sites as a profile, compressed. Its values are live_blocks,
// live_bytes, peak_blocks and peak_bytes, of which pprof shows live_bytes unless
// told otherwise; the label device is each site's device.
func Write(w io.Writer, sites []memory.Site) error {
	if w == nil {
		return errors.New("pprof: write: there is no writer; it takes one that is not nil")
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "live_blocks", Unit: "count"},
			{Type: "live_bytes", Unit: "bytes"},
			{Type: "peak_blocks", Unit: "count"},
			{Type: "peak_bytes", Unit: "bytes"},
		},
		DefaultSampleType: "live_bytes",
		PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
		Period:            1,
		TimeNanos:         time.Now().UnixNano(),
		Comments:          []string{Name},
	}
	t := table{p: p, functions: map[function]*profile.Function{}, locations: map[memory.Frame]*profile.Location{}}
	for _, s := range sites {
		sample := &profile.Sample{
			Value: []int64{s.LiveBlocks, s.LiveBytes, s.PeakBlocks, s.PeakBytes},
			Label: map[string][]string{"device": {s.Device.String()}},
		}
		for _, f := range s.Frames {
			sample.Location = append(sample.Location, t.location(f))
		}
		p.Sample = append(p.Sample, sample)
	}
	return p.Write(w)
}

// A table has what samples share, in the profile and by what it stands for.
type table struct {
	p         *profile.Profile
	functions map[function]*profile.Function
	locations map[memory.Frame]*profile.Location
}

type function struct{ name, file string }

func (t table) location(f memory.Frame) *profile.Location {
	l := t.locations[f]
	if l == nil {
		l = &profile.Location{
			ID:   uint64(len(t.locations) + 1),
			Line: []profile.Line{{Function: t.function(f.Function, f.File), Line: int64(f.Line)}},
		}
		t.locations[f] = l
		t.p.Location = append(t.p.Location, l)
	}
	return l
}

func (t table) function(name, file string) *profile.Function {
	f := t.functions[function{name, file}]
	if f == nil {
		f = &profile.Function{ID: uint64(len(t.functions) + 1), Name: name, SystemName: name, Filename: file}
		t.functions[function{name, file}] = f
		t.p.Function = append(t.p.Function, f)
	}
	return f
}
