package device

import "sync/atomic"

// WordEnded is what the host stores in a word to end a wait in vain. What the stream has behind it is
// done then without an order among devices, or, where a simulated device records it, not at all. No wait
// is for a value as large.
const WordEnded = 1 << 30

// A Signaler is a Driver whose streams can wait for one another by words of memory. Unlike events,
// words serve recordings, too: those of several devices can wait for one another in the midst of
// their work.
//
// A word lies in page-locked memory of the driver, where every device and the host reach it: what
// the host stores ends a wait as what a stream writes does, and needs no device for it.
//
// A stream that waits for a word holds up all that it has, and may hold up other streams of its
// device, which has fewer queues than streams; only what writes the word ends that. So work that a
// word is waited for by is given to devices in an order that holds whatever they do one after the
// other, and what must end a wait at any time is the host's to store: WordEnded, where what was waited
// for has not come.
type Signaler interface {
	// WriteWord writes a word in the order of stream s, once all before it can be seen by whoever
	// finds the word written.
	WriteWord(dev int, s StreamID, word *atomic.Uint32, value uint32) error
	// AwaitWord makes later work on stream s wait until the word is value or more.
	AwaitWord(dev int, s StreamID, word *atomic.Uint32, value uint32) error
}
