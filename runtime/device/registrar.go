package device

// A HostRegistrar is a Driver that can page-lock memory of the program's.
type HostRegistrar interface {
	// RegisterHost locks host memory, so that the devices can copy from and to it
	// asynchronously, until UnregisterHost. The memory stays the caller's.
	RegisterHost(m Memory) error
	UnregisterHost(m Memory) error
}
