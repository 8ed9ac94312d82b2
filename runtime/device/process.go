package device

// A ProcessMemory is a Driver that knows what this process takes of a device,
// whatever it took it for.
type ProcessMemory interface {
	// ProcessMemory returns bytes.
	ProcessMemory(dev int) (int64, error)
}
