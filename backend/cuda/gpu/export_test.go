package gpu

import "github.com/sinter-go/sinter/backend/cuda/driver"

// Over returns a Driver whose CUDA driver is api.
func Over(api driver.API) *Driver {
	return &Driver{open: func() (driver.API, error) { return api, nil }}
}
