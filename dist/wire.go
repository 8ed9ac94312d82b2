package dist

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A note is what one process of a group tells another beside the calls.
type note struct {
	Group string   `json:",omitempty"` // whose calls they are
	Size  int      `json:",omitempty"` // ranks of it
	First uint64   `json:",omitempty"` // number of the first of Calls
	Calls []string `json:",omitempty"` // what the sender made, as messages name it
	Left  bool     `json:",omitempty"` // the sender closed its end of Group
	Bye   bool     `json:",omitempty"` // the sender says nothing any more, and all is well
	Fault string   `json:",omitempty"` // why Group, or every group where it is "", is of no more use
	Kind  int      `json:",omitempty"` // of Fault, an index in faultKinds
}

// A wire carries notes between two processes that proved to each other that they have the
// group's secret. Every frame has its length, a proof by a key of the connection and of its place
// in it, and the notes. Frames without notes say that the sender lives.
type wire struct {
	conn   net.Conn
	keys   [2][]byte     // of what is sent, and of what is received
	silent time.Duration // after which the other side counts as gone

	mu   sync.Mutex
	out  []note
	sent []chan struct{} // to be closed when out is sent
	over bool            // said goodbye, behind which nothing is put
	wake chan struct{}   // has room for one
	done chan struct{}   // closed when the writer ended
}

// maxFrame bounds what is read of a frame, in bytes.
const maxFrame = 16 << 20

// newWire takes over a connection. get is called with what comes, by one goroutine, and lost
// once, with the reason, if the connection ends before the other side said goodbye.
func newWire(conn net.Conn, keys [2][]byte, silent time.Duration, get func(note), lost func(error)) *wire {
	w := &wire{conn: conn, keys: keys, silent: silent, wake: make(chan struct{}, 1), done: make(chan struct{})}
	_ = conn.SetDeadline(time.Time{}) // that of the meeting
	go w.write()
	go func() {
		if err := w.read(get); err != nil && !errors.Is(err, net.ErrClosed) { // by this side
			lost(err)
		}
	}()
	return w
}

// tell sends a note, later.
func (w *wire) tell(n note) { w.put(n, nil) }

// put is tell, and closes sent, which may be nil, when the note is on its way. Behind a goodbye none is.
func (w *wire) put(n note, sent chan struct{}) {
	w.mu.Lock()
	if !w.over {
		w.out, w.over = append(w.out, n), n.Bye
		if sent != nil {
			w.sent = append(w.sent, sent)
		}
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// urge sends a note over each of the wires, and returns when all are on their way, or cannot be: what
// this process does next may be its end. It does not wait for long for a process that reads nothing.
func urge(wires map[int]*wire, n note) {
	late := time.After(patient)
	sent := map[*wire]chan struct{}{}
	for _, w := range wires {
		sent[w] = make(chan struct{})
		w.put(n, sent[w])
	}
	for w, is := range sent {
		select {
		case <-is:
		case <-w.done:
		case <-late:
			return
		}
	}
}

// write sends notes as they come, and signs of life between them. It ends with a goodbye, or
// when the connection does.
func (w *wire) write() {
	defer close(w.done)
	beat := time.NewTicker(max(w.silent/8, time.Millisecond))
	defer beat.Stop()
	for number := uint64(0); ; number++ {
		select {
		case <-w.wake:
		case <-beat.C:
		}
		w.mu.Lock()
		list, sent := w.out, w.sent
		w.out, w.sent = nil, nil
		w.mu.Unlock()
		for i, some := range frames(list, maxFrame) {
			if i > 0 {
				number++
			}
			if w.send(number, some) != nil {
				return // the reader finds it, too
			}
		}
		for _, is := range sent {
			close(is)
		}
		if len(list) > 0 && list[len(list)-1].Bye {
			return
		}
	}
}

// frames returns notes as the frames carry them, each of so many bytes at most, one at least. A process that others did
// not listen to for a while has many to tell, and one note may have the calls of a large graph.
func frames(list []note, most int) [][]byte {
	body, err := json.Marshal(list)
	switch half := len(list) / 2; {
	case err != nil:
		return nil // notes are of what can be marshalled
	case len(body) <= most:
		return [][]byte{body}
	case half > 0:
		return append(frames(list[:half], most), frames(list[half:], most)...)
	}
	n := list[0]
	half := len(n.Calls) / 2
	if half == 0 {
		return [][]byte{body}
	}
	first, rest := n, n
	first.Calls, first.Left, first.Bye, first.Fault = n.Calls[:half], false, false, ""
	rest.Calls, rest.First = n.Calls[half:], n.First+uint64(half)
	return append(frames([]note{first}, most), frames([]note{rest}, most)...)
}

func (w *wire) send(number uint64, body []byte) error {
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	frame = append(append(frame, proof(w.keys[0], number, body)...), body...)
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.silent)); err != nil {
		return err
	}
	_, err := w.conn.Write(frame)
	return err
}

// proof shows that a frame is of a connection and direction, which the key is of, and which.
func proof(key []byte, number uint64, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(binary.LittleEndian.AppendUint64(nil, number))
	h.Write(body)
	return h.Sum(nil)
}

// read hands on what comes, until a goodbye.
func (w *wire) read(get func(note)) error {
	in := bufio.NewReader(w.conn)
	head := make([]byte, 4+proofBytes)
	for number := uint64(0); ; number++ {
		if err := w.conn.SetReadDeadline(time.Now().Add(w.silent)); err != nil {
			return err
		}
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		n := binary.LittleEndian.Uint32(head)
		if n > maxFrame {
			return fmt.Errorf("a message of %d bytes", n)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		if !hmac.Equal(head[4:], proof(w.keys[1], number, body)) {
			return errors.New("a message that is not the group's")
		}
		var list []note
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		for _, n := range list {
			get(n)
			if n.Bye {
				return nil
			}
		}
	}
}

// close says goodbye, and ends the connection when that is sent.
func (w *wire) close() {
	w.tell(note{Bye: true})
	<-w.done
	_ = w.conn.Close() // nothing more is to be said
}
