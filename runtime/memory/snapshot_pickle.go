package memory

import (
	"errors"
	"fmt"
	"io"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/pickle"
)

// WritePickle writes the snapshot in the form that PyTorch's memory visualiser
// reads: a pickled dictionary of segments and device_traces. Every device must be
// of one kind, since the form has only indices. A closing error of w is the
// caller's.
func (s Snapshot) WritePickle(w io.Writer) error {
	if w == nil {
		return errors.New("memory: snapshot: there is no writer; it takes one that is not nil")
	}
	traces, err := s.byIndex()
	if err != nil {
		return fmt.Errorf("memory: snapshot: %w", err)
	}
	p := snapshotWriter{pickle.NewWriter(w)}
	p.Dict(func() {
		p.Key("segments")
		p.List(len(s.Segments), func(i int) { p.segment(s.Segments[i]) })
		p.Key("device_traces")
		p.List(len(traces), func(i int) {
			p.List(len(traces[i]), func(j int) { p.entry(traces[i][j]) })
		})
		p.Key("allocator_settings")
		p.Dict(func() { p.text("PYTORCH_CUDA_ALLOC_CONF", s.Settings) })
		p.Key("external_annotations")
		p.List(0, nil)
	})
	return p.Close()
}

// byIndex returns the traces of devices 0, 1, ...; empty for those that the
// snapshot is not of.
func (s Snapshot) byIndex() ([][]TraceEntry, error) {
	var list [][]TraceEntry
	for _, t := range s.Traces {
		if i := t.Device.Index; i < 0 || i >= maxDevices {
			return nil, fmt.Errorf("%w: a trace of device %d; a machine has 0 to %d", device.ErrInvalid, i, maxDevices-1)
		}
		for len(list) <= t.Device.Index {
			list = append(list, nil)
		}
		list[t.Device.Index] = t.Entries
	}
	return list, nil
}

// maxDevices bounds the list of devices that a snapshot's form has.
const maxDevices = 1 << 16

// A snapshotWriter writes the parts of a snapshot.
type snapshotWriter struct{ *pickle.Writer }

func (p snapshotWriter) int(key string, v int64) {
	p.Key(key)
	p.Int(v)
}

func (p snapshotWriter) uint(key string, v uint64) {
	p.Key(key)
	p.Uint(v)
}

func (p snapshotWriter) text(key, v string) {
	p.Key(key)
	p.String(v)
}

func (p snapshotWriter) pool(key string, id PoolID) {
	p.Key(key)
	p.Tuple(2, func(i int) { p.Uint([2]uint64{id.A, id.B}[i]) })
}

// frames writes a stack. Those of one place are one list, as they are here.
func (p snapshotWriter) frames(list []Frame) {
	p.Key("frames")
	write := func() { p.List(len(list), func(i int) { p.frame(list[i]) }) }
	if len(list) == 0 {
		write()
		return
	}
	p.Shared(&list[0], write)
}

func (p snapshotWriter) frame(f Frame) {
	p.Shared(f, func() {
		p.Dict(func() {
			p.text("name", f.Function)
			p.text("filename", f.File)
			p.int("line", int64(f.Line))
		})
	})
}

func (p snapshotWriter) segment(s Segment) {
	p.Dict(func() {
		p.int("device", int64(s.Device.Index))
		p.uint("address", s.Address)
		p.int("total_size", s.Total)
		p.int("allocated_size", s.Allocated)
		p.int("active_size", s.Active)
		p.int("requested_size", s.Requested)
		p.uint("stream", uint64(s.Stream))
		p.text("segment_type", poolName(s.Small))
		p.pool("segment_pool_id", s.Pool)
		if s.PoolName != "" {
			p.text("segment_pool_name", s.PoolName)
		}
		p.Key("is_expandable")
		p.Bool(s.Expandable)
		p.frames(s.Frames)
		p.Key("blocks")
		p.List(len(s.Blocks), func(i int) { p.block(s.Blocks[i]) })
	})
}

func poolName(small bool) string {
	if small {
		return "small"
	}
	return "large"
}

func (p snapshotWriter) block(b BlockInfo) {
	p.Dict(func() {
		p.uint("address", b.Address)
		p.int("size", b.Size)
		p.int("requested_size", b.Requested)
		p.text("state", b.State.String())
		p.frames(b.Frames)
	})
}

func (p snapshotWriter) entry(e TraceEntry) {
	p.Dict(func() {
		p.text("action", e.Action.String())
		if e.Action == TraceOutOfMemory {
			p.int("device_free", e.Free)
		} else {
			p.uint("addr", e.Addr)
		}
		p.int("size", e.Size)
		p.uint("stream", uint64(e.Stream))
		p.int("device", int64(e.Device.Index))
		p.pool("pool_id", e.Pool)
		p.int("time_us", e.Time.UnixMicro())
		if e.Metadata != "" {
			p.text("user_metadata", e.Metadata)
		}
		p.frames(e.Frames)
	})
}
