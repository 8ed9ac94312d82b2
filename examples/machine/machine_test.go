package machine

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
)

func TestUse(t *testing.T) {
	if cuda.IsAvailable() {
		t.Skip("there is a GPU")
	}
	if _, err := Use("cuda", 1, 0); err == nil {
		t.Error("GPUs are used where there are none")
	}
	if _, err := Use("tpu", 1, 0); err == nil || !strings.Contains(err.Error(), `"tpu"; want cuda, sim or auto`) {
		t.Error(err)
	}
	m, err := Use("auto", 3, 0)
	if err != nil || m.String() != "3 simulated GPUs" || cuda.DeviceCount() != 3 {
		t.Errorf("%s, %d devices, %v", m, cuda.DeviceCount(), err)
	}
	if s := (Machine{GPUs: 1}).String(); s != "one GPU" {
		t.Error(s)
	}
}
