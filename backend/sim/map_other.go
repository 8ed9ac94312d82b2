//go:build !linux

package sim

// reserveHost returns host memory, which the collector takes back.
func reserveHost(bytes int64) ([]byte, func(), error) {
	return make([]byte, bytes), func() {}, nil
}

func forgetHost([]byte) {}
