package profile

import "github.com/sinter-go/sinter/backend/cuda/nvtx"

// marks names ranges to NVIDIA's tools. A nil marks names nothing.
type marks struct{ library *nvtx.Library }

func nvtxLibrary() (*marks, error) {
	library, err := nvtx.Open()
	if err != nil {
		return nil, err
	}
	return &marks{library}, nil
}

// begin begins a range and returns what ends it.
func (m *marks) begin(name string) (end func()) {
	if m == nil {
		return func() {}
	}
	return m.library.Begin(name)
}
