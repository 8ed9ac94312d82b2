package stream

import "github.com/sinter-go/sinter/runtime/device"

// Capturing reports whether what the stream is given is recorded and not done.
func (s Stream) Capturing() (bool, error) {
	drv, err := s.driver()
	if err != nil {
		return false, err
	}
	c, ok := drv.(device.Capturer)
	return ok && c.CaptureOf(s.dev.Index, s.id) != 0, nil
}
