//go:build cu && cgo

package driver

import (
	"strings"
	"time"

	"gorgonia.org/cu"
)

func (b cuBinding) StreamPriorityRange(dev int) (lowest, highest int, err error) {
	err = b.call(cuCtxGetStreamPriorityRange, dev, func() (e error) {
		lowest, highest, e = cu.StreamPriorityRange()
		return e
	})
	return lowest, highest, err
}

func (b cuBinding) StreamCreate(dev int, flags StreamFlags, priority int) (s Stream, err error) {
	err = b.call(cuStreamCreateWithPriority, dev, func() error {
		made, e := cu.MakeStreamWithPriority(priority, cu.StreamFlags(flags))
		s = StreamOf(made)
		return e
	})
	return s, err
}

func (b cuBinding) StreamDestroy(dev int, s Stream) error {
	return b.call(cuStreamDestroy, dev, func() error {
		own := s.CUStream()
		return own.Destroy()
	})
}

func (b cuBinding) StreamQuery(dev int, s Stream) (bool, error) {
	return answer(b.call(cuStreamQuery, dev, s.CUStream().Query))
}

func (b cuBinding) StreamSynchronize(dev int, s Stream) error {
	return b.call(cuStreamSynchronize, dev, s.CUStream().Synchronize)
}

func (b cuBinding) StreamWaitEvent(dev int, s Stream, e Event) error {
	return b.call(cuStreamWaitEvent, dev, func() error { return s.CUStream().Wait(e.CUEvent(), 0) })
}

func (b cuBinding) EventCreate(dev int, flags EventFlags) (e Event, err error) {
	err = b.call(cuEventCreate, dev, func() error {
		made, failed := cu.MakeEvent(cu.EventFlags(flags))
		e = EventOf(made)
		return failed
	})
	return e, err
}

func (b cuBinding) EventDestroy(dev int, e Event) error {
	return b.call(cuEventDestroy, dev, func() error {
		own := e.CUEvent()
		return cu.DestroyEvent(&own)
	})
}

func (b cuBinding) EventRecord(dev int, e Event, s Stream) error {
	return b.call(cuEventRecord, dev, func() error { return e.CUEvent().Record(s.CUStream()) })
}

func (b cuBinding) EventQuery(dev int, e Event) (bool, error) {
	return answer(b.call(cuEventQuery, dev, e.CUEvent().Query))
}

func (b cuBinding) EventSynchronize(dev int, e Event) error {
	return b.call(cuEventSynchronize, dev, e.CUEvent().Synchronize)
}

func (b cuBinding) EventElapsed(dev int, start, end Event) (d time.Duration, err error) {
	err = b.call(cuEventElapsedTime, dev, func() error {
		ms, e := start.CUEvent().Elapsed(end.CUEvent())
		d = time.Duration(ms * float64(time.Millisecond))
		return e
	})
	return d, err
}

func (b cuBinding) ModuleLoad(dev int, image []byte) (m Module, err error) {
	if err := checkImage(image); err != nil {
		return 0, b.refuse(cuModuleLoadDataEx, dev, InvalidImage, "%v", err)
	}
	log := make([]byte, logBytes)
	err = b.call(cuModuleLoadDataEx, dev, func() error {
		loaded, e := cu.LoadDataEx(string(image), &cu.JITErrorLogBuffer{Buffer: log})
		m = Module(from(loaded))
		return e
	})
	text, _, _ := strings.Cut(string(log), "\x00")
	if text = strings.TrimSpace(text); err != nil && text != "" {
		return 0, detailed(err, "%s", text)
	}
	return m, err
}

func (b cuBinding) ModuleUnload(dev int, m Module) error {
	return b.call(cuModuleUnload, dev, to[cu.Module](m).Unload)
}

func (b cuBinding) ModuleFunction(dev int, m Module, name string) (f Function, err error) {
	err = b.call(cuModuleGetFunction, dev, func() error {
		found, e := to[cu.Module](m).Function(name)
		f = Function(from(found))
		return e
	})
	return f, detailed(err, "kernel %q", name)
}

func (b cuBinding) ModuleGlobal(dev int, m Module, name string) (p Ptr, size int64, err error) {
	err = b.call(cuModuleGetGlobal, dev, func() error {
		found, n, e := to[cu.Module](m).Global(name)
		p, size = PtrOf(found), n
		return e
	})
	return p, size, detailed(err, "variable %q", name)
}

func (b cuBinding) FunctionAttribute(dev int, f Function, a FunctionAttribute) (v int, err error) {
	err = b.call(cuFuncGetAttribute, dev, func() (e error) {
		v, e = to[cu.Function](f).Attribute(cu.FunctionAttribute(a))
		return e
	})
	return v, detailed(err, "attribute %d", a)
}

func (b cuBinding) OccupancyBlocks(dev int, f Function, threads, shared int) (n int, err error) {
	err = b.call(cuOccupancyMaxActiveBlocksPerMultiprocessor, dev, func() (e error) {
		n, e = to[cu.Function](f).MaxActiveBlocksPerMultiProcessor(threads, int64(shared))
		return e
	})
	return n, detailed(err, "%d threads a block, %d bytes shared", threads, shared)
}
