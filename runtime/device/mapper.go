package device

// A Mapper is a Driver that can reserve addresses without memory, and put memory
// behind parts of them later: a block can so become larger without moving.
// Sizes and offsets in a range are multiples of MapUnit.
type Mapper interface {
	// CanMap reports whether the device does so.
	CanMap(dev int) bool
	// Reserve sets a range of addresses aside, aligned to MapUnit. Nothing can be
	// read or written there before memory is mapped.
	Reserve(dev int, bytes int64) (addr uint64, err error)
	// Unreserve gives a range back. Nothing is mapped in it.
	Unreserve(dev int, addr uint64, bytes int64) error
	// Map puts new memory behind the addresses, in pages of a size that divides
	// bytes. The device and those that were given access to its memory can use it.
	// Where there is no room, the error wraps ErrOutOfMemory and nothing is mapped.
	Map(dev int, addr uint64, bytes, page int64) error
	// Unmap gives the memory behind the addresses back, pages that Map made with
	// the same page size. Work that uses it is done: Unmap does not wait.
	Unmap(dev int, addr uint64, bytes, page int64) error
}

// MapUnit is the least that a Mapper maps, in bytes.
const MapUnit = 2 << 20
