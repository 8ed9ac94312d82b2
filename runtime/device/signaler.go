package device

// A Signaler is a Driver whose streams can wait for one another by words of memory, each of 32
// bits and aligned to that. Unlike events, words serve recordings, too: those of several devices
// can wait for one another in the midst of their work.
//
// A stream that waits for a word holds up all that it has, and may hold up other streams of its
// device; only what writes the word ends that. So work that a word is waited for by is given to
// devices in an order that holds whatever they do one after the other.
type Signaler interface {
	// WriteWord writes a word of device toDev, which dev reaches, in the order of stream s of dev,
	// once all before it can be seen there.
	WriteWord(dev int, s StreamID, toDev int, addr uint64, value uint32) error
	// AwaitWord makes later work on stream s wait until the word at addr, which is dev's, is value
	// or more.
	AwaitWord(dev int, s StreamID, addr uint64, value uint32) error
}
