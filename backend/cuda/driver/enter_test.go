package driver

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// TestEnter checks that the context is current between Enter and Leave, as other
// libraries' calls need it.
func TestEnter(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		for dev := range api.DeviceCount() {
			want, err := api.PrimaryContext(dev)
			must(t, err)
			must(t, api.Enter(dev))
			err = visit(api, dev) // a call of the same device in between changes nothing
			got := currentContext(t, api)
			api.Leave()
			must(t, err)
			if got != want {
				t.Errorf("cuda:%d: the current context is %x, want %x", dev, got, want)
			}
		}
		if err := api.Enter(-1); !errors.Is(err, InvalidDevice) {
			t.Errorf("Enter(-1): %v", err)
		}
	})
}

// currentContext asks the driver's library itself.
func currentContext(t *testing.T, api API) Context {
	t.Helper()
	b, ok := api.(*binding)
	if !ok {
		t.Skip("another binding")
	}
	f, err := b.lib.Func("cuCtxGetCurrent")
	must(t, err)
	c := dl.Get()
	defer c.Free()
	if code := Code(int32(f.Call(c, c.Addr(0)))); code != Success {
		t.Fatal(code)
	}
	return Context(c.Words[0])
}
