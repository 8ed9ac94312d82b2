package device

// A Sharer is a Driver with memory that other processes of the machine can open.
type Sharer interface {
	// AllocShared returns bytes > 0 of a device's memory, and the handle by which other
	// processes open it while this one has it.
	AllocShared(dev int, bytes int64) (m Memory, handle []byte, err error)
	// OpenShared opens memory of another process, and says of which device it is. In the
	// process that made it, or where the device is not there, that is an error.
	OpenShared(handle []byte, bytes int64) (dev int, m Memory, err error)
	// FreeShared gives back what one of them returned, after all work given to the device is
	// done. Memory that another process has open is not freed in the process that made it.
	FreeShared(dev int, m Memory) error
}

// An EventSharer is a Sharer whose events other processes can open, so that their streams
// wait for work of this one. Where there is none, the host waits.
type EventSharer interface {
	NewSharedEvent(dev int) (e EventID, handle []byte, err error)
	OpenSharedEvent(dev int, handle []byte) (EventID, error)
}
