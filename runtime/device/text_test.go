package device_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
)

// TestText holds that a device is a flag and a text.
func TestText(t *testing.T) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	var plain, text device.Device
	set.Var(&plain, "a", "")
	set.TextVar(&text, "b", device.CUDA(0), "")
	if text != device.CUDA(0) {
		t.Errorf("default %v", text)
	}
	if err := set.Parse([]string{"-a", "cuda:1", "-b", "cpu"}); err != nil || plain != device.CUDA(1) || text != device.CPU {
		t.Errorf("%v and %v, error %v", plain, text, err)
	}
	if err := set.Parse([]string{"-a", "gpu"}); err == nil || plain != device.CUDA(1) {
		t.Errorf("%v after a device that is none, error %v", plain, err)
	}
	raw, err := json.Marshal(map[string]device.Device{"on": device.CUDA(2)})
	if err != nil || string(raw) != `{"on":"cuda:2"}` {
		t.Errorf("%s, error %v", raw, err)
	}
	if _, err := (device.Device{Kind: 99}).MarshalText(); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("a kind that is none: error %v", err)
	}
}
