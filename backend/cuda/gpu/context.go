package gpu

import "github.com/sinter-go/sinter/backend/cuda/driver"

// InContext calls f on a thread on which the context of a GPU is current, for libraries
// whose calls belong together on one thread.
func (d *Driver) InContext(dev int, f func() error) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	return api.Do(dev, func(driver.Context) error { return f() })
}
