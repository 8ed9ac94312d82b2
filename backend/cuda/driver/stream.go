package driver

import (
	"math"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

func (b *binding) StreamPriorityRange(dev int) (lowest, highest int, err error) {
	c := dl.Get()
	defer c.Free()
	err = b.onFrame(cuCtxGetStreamPriorityRange, dev, c, c.Addr(0), c.Addr(1))
	return int(int32(c.Words[0])), int(int32(c.Words[1])), err
}

func (b *binding) StreamCreate(dev int, flags StreamFlags, priority int) (Stream, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuStreamCreateWithPriority, dev, c, c.Addr(0), uintptr(flags), uintptr(priority)); err != nil {
		return 0, err
	}
	return Stream(c.Words[0]), nil
}

func (b *binding) StreamDestroy(dev int, s Stream) error {
	return b.on(cuStreamDestroy, dev, uintptr(s))
}

func (b *binding) StreamQuery(dev int, s Stream) (bool, error) {
	return b.ready(cuStreamQuery, dev, uintptr(s))
}

func (b *binding) StreamSynchronize(dev int, s Stream) error {
	return b.on(cuStreamSynchronize, dev, uintptr(s))
}

func (b *binding) StreamWaitEvent(dev int, s Stream, e Event) error {
	return b.on(cuStreamWaitEvent, dev, uintptr(s), uintptr(e), 0)
}

func (b *binding) StreamWaitValue32(dev int, s Stream, addr Ptr, value uint32, flush bool) error {
	flags := uintptr(0) // CU_STREAM_WAIT_VALUE_GEQ
	if flush {
		flags |= 1 << 30 // CU_STREAM_WAIT_VALUE_FLUSH
	}
	return b.on(cuStreamWaitValue32, dev, uintptr(s), uintptr(addr), uintptr(value), flags)
}

func (b *binding) StreamCaptureStatus(dev int, s Stream) (CaptureStatus, error) {
	c := dl.Get()
	defer c.Free()
	err := b.onFrame(cuStreamIsCapturing, dev, c, uintptr(s), c.Addr(0))
	return CaptureStatus(int32(c.Words[0])), err
}

func (b *binding) EventCreate(dev int, flags EventFlags) (Event, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuEventCreate, dev, c, c.Addr(0), uintptr(flags)); err != nil {
		return 0, err
	}
	return Event(c.Words[0]), nil
}

func (b *binding) EventDestroy(dev int, e Event) error { return b.on(cuEventDestroy, dev, uintptr(e)) }

func (b *binding) EventRecord(dev int, e Event, s Stream) error {
	return b.on(cuEventRecord, dev, uintptr(e), uintptr(s))
}

func (b *binding) EventQuery(dev int, e Event) (bool, error) {
	return b.ready(cuEventQuery, dev, uintptr(e))
}

func (b *binding) EventSynchronize(dev int, e Event) error {
	return b.on(cuEventSynchronize, dev, uintptr(e))
}

func (b *binding) EventElapsed(dev int, start, end Event) (time.Duration, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuEventElapsedTime, dev, c, c.Addr(0), uintptr(start), uintptr(end)); err != nil {
		return 0, err
	}
	ms := float64(math.Float32frombits(uint32(c.Words[0])))
	return time.Duration(ms * float64(time.Millisecond)), nil
}
