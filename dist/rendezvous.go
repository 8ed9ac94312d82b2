package dist

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sinter-go/sinter/ir"
)

// ErrRendezvous is wrapped when the ranks did not find each other.
const ErrRendezvous ir.Error = "rendezvous"

// The exchange, on a connection of each rank to rank 0: the rank sends a hello, rank 0 a
// nonce; the rank a nonce of its own and a proof that it has the secret; rank 0 what is
// exchanged and its proof. The secret never travels. The connections stay, for what the ranks
// tell each other beside their calls (sideline).
const (
	magic      = "sinter dist 1\n"
	nonceBytes = 16
	proofBytes = sha256.Size
)

// A contact is a connection that a meeting leaves, with the keys of what is sent by it and of
// what is received.
type contact struct {
	conn net.Conn
	keys [2][]byte
}

// contactOf returns the contact of the side that is first or not, of those that exchanged
// the nonces.
func (m *meeting) contactOf(conn net.Conn, first bool, nonces ...[]byte) *contact {
	key := func(direction string) []byte { return m.prove(append([][]byte{[]byte(direction)}, nonces...)...) }
	c := &contact{conn, [2][]byte{key("from rank 0"), key("to rank 0")}}
	if !first {
		c.keys[0], c.keys[1] = c.keys[1], c.keys[0]
	}
	return c
}

// A meeting is the exchange of a small value, which rank 0 has.
type meeting struct {
	at         string // host:port of rank 0
	secret     []byte
	rank, size int
}

// meeting returns the exchange of the processes in e.
func (e *Environment) meeting() (*meeting, error) {
	m := &meeting{at: e.Master, secret: []byte(os.Getenv("SINTER_DIST_SECRET")), rank: e.Rank, size: e.Size}
	host, port, err := net.SplitHostPort(e.Master)
	if err != nil {
		return nil, fmt.Errorf("%w: MASTER_ADDR and MASTER_PORT do not say where rank 0 is (%q)", ErrRendezvous, e.Master)
	}
	if os.Getenv("TORCHELASTIC_USE_AGENT_STORE") == "True" { // the agent has the port itself
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("%w: MASTER_PORT is %q, want a number", ErrRendezvous, port)
		}
		m.at = net.JoinHostPort(host, strconv.Itoa(n+1))
	}
	if ip := net.ParseIP(host); len(m.secret) == 0 && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%w: rank 0 is met at %s; set SINTER_DIST_SECRET to a secret, the same for all ranks, so that nobody else takes part", ErrRendezvous, m.at)
	}
	return m, nil
}

// prove returns the proof that whoever sent the parts has the secret.
func (m *meeting) prove(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, m.secret)
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}

// give has rank 0 hand value to all other ranks, until all have it or ctx ends, and returns
// the contacts with them by rank.
func (m *meeting) give(ctx context.Context, value []byte) (_ map[int]*contact, err error) {
	if m.size == 1 {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", m.at)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRendezvous, err)
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	return m.admit(ctx, l, value)
}

// admit is give at a listener, which it closes.
func (m *meeting) admit(ctx context.Context, l net.Listener, value []byte) (_ map[int]*contact, err error) {
	var mu sync.Mutex
	served, refused := map[int]*contact{}, error(nil)
	var all sync.WaitGroup
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // as where too many files are open, which ends
			mu.Lock()
			refused = err
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
			continue
		}
		all.Go(func() {
			rank, c, err := m.serve(ctx, conn, value)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				conn.Close()
				refused = err // a stranger's, or that of a rank that comes again
				return
			}
			if was := served[rank]; was != nil {
				was.conn.Close() // it did not get its answer, and came again
			}
			if served[rank] = c; len(served) == m.size-1 {
				l.Close()
			}
		})
	}
	all.Wait()
	if len(served) == m.size-1 {
		return served, nil
	}
	var missing []int
	for r := 1; r < m.size; r++ {
		if served[r] == nil {
			missing = append(missing, r)
		} else {
			served[r].conn.Close()
		}
	}
	err = fmt.Errorf("%w at %s: %v did not come: %w", ErrRendezvous, m.at, missing, context.Cause(ctx))
	if refused != nil {
		err = fmt.Errorf("%w; one was refused: %w", err, refused)
	}
	return nil, err
}

// patient is how long one step of an exchange may take.
const patient = 10 * time.Second

// serve hands value to one rank.
func (m *meeting) serve(ctx context.Context, conn net.Conn, value []byte) (rank int, _ *contact, err error) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
		return 0, nil, err
	}
	hello := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(conn, hello); err != nil {
		return 0, nil, err
	}
	place := hello[len(magic):]
	rank, size := int(binary.LittleEndian.Uint32(place)), int(binary.LittleEndian.Uint32(place[4:]))
	if string(hello[:len(magic)]) != magic || rank < 1 || rank >= m.size || size != m.size {
		return 0, nil, fmt.Errorf("%v says to be rank %d of %d", conn.RemoteAddr(), rank, size)
	}
	nonce := make([]byte, nonceBytes)
	rand.Read(nonce)
	if _, err := conn.Write(nonce); err != nil {
		return 0, nil, err
	}
	answer := make([]byte, nonceBytes+proofBytes)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return 0, nil, err
	}
	theirs := answer[:nonceBytes]
	if !hmac.Equal(answer[nonceBytes:], m.prove([]byte("rank"), nonce, theirs, hello)) {
		return 0, nil, fmt.Errorf("%v, as rank %d, has another SINTER_DIST_SECRET", conn.RemoteAddr(), rank)
	}
	_, err = conn.Write(append(m.prove([]byte("value"), nonce, theirs, value), value...))
	return rank, m.contactOf(conn, true, nonce, theirs), err
}

// take returns what rank 0 gives, as many bytes as there are in value, and the contact with
// it. It tries again until rank 0 is there.
func (m *meeting) take(ctx context.Context, value []byte) (*contact, error) {
	pause := 10 * time.Millisecond
	for {
		c, err := m.ask(ctx, value)
		if err == nil || errors.Is(err, errSecret) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: rank %d did not reach rank 0 at %s: %w; %w", ErrRendezvous, m.rank, m.at, context.Cause(ctx), err)
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
}

// errSecret is the error of a rank whose secret is not that of rank 0.
var errSecret = fmt.Errorf("%w: rank 0 has another SINTER_DIST_SECRET, or another size", ErrRendezvous)

// ask is one try of take.
func (m *meeting) ask(ctx context.Context, value []byte) (_ *contact, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.at)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
		return nil, err
	}
	hello := binary.LittleEndian.AppendUint32([]byte(magic), uint32(m.rank))
	hello = binary.LittleEndian.AppendUint32(hello, uint32(m.size))
	if _, err := conn.Write(hello); err != nil {
		return nil, err
	}
	nonce, mine := make([]byte, nonceBytes), make([]byte, nonceBytes)
	if _, err := io.ReadFull(conn, nonce); err != nil {
		return nil, err
	}
	rand.Read(mine)
	if _, err := conn.Write(append(mine, m.prove([]byte("rank"), nonce, mine, hello)...)); err != nil {
		return nil, err
	}
	reply := make([]byte, proofBytes+len(value))
	if _, err := io.ReadFull(conn, reply); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", errSecret, err)
	}
	if !hmac.Equal(reply[:proofBytes], m.prove([]byte("value"), nonce, mine, reply[proofBytes:])) {
		return nil, errSecret
	}
	copy(value, reply[proofBytes:])
	return m.contactOf(conn, false, nonce, mine), nil
}
