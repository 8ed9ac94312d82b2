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
	"time"

	"github.com/sinter-go/sinter/ir"
)

// ErrRendezvous is wrapped when the ranks did not find each other.
const ErrRendezvous ir.Error = "rendezvous"

// The exchange, on a connection of each rank to rank 0: the rank sends a hello, rank 0 a
// nonce; the rank a nonce of its own and a proof that it has the secret; rank 0 its proof, or zeros for another
// secret. The secret never travels. Then the rank waits until all are there, and has the verdict: what is exchanged, or
// why there is no group. The connections of a group stay, for what the ranks tell each other beside their calls
// (sideline).
const (
	magic      = "sinter dist 2\n"
	nonceBytes = 16
	proofBytes = sha256.Size
	selfBytes  = 16 // what a process is known by when it comes again
	helloBytes = len(magic) + 3*4 + selfBytes

	verdictHead = 1 + 4 + proofBytes // of a verdict: which, the length of its text, a proof
	maxVerdict  = 1 << 16
)

// The verdicts.
const (
	accepted = iota
	refused
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

// patient is how long one step of an exchange may take.
const patient = 10 * time.Second

// give has rank 0 hand value to all other ranks, once all are there, and returns the contacts with them by rank. Where
// they cannot be a group, or ctx ends before all are there, those that came are told why.
func (m *meeting) give(ctx context.Context, value []byte) (map[int]*contact, error) {
	if m.size == 1 {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", m.at)
	if err != nil {
		return nil, m.second(ctx, fmt.Errorf("%w: %w", ErrRendezvous, err))
	}
	return m.admit(ctx, l, value)
}

// second is what a rank 0 does that cannot be met at the address: if another process says to be rank 0 there, all are
// told that there are two. It returns why it cannot go on.
func (m *meeting) second(ctx context.Context, why error) error {
	for began := time.Now(); ; time.Sleep(pause) {
		_, err := m.ask(ctx, newSelf(), nil)
		switch {
		case errors.As(err, new(verdict)):
			return m.told(err)
		case ctx.Err() != nil, errors.Is(err, errSecret), time.Since(began) > patient:
			return why
		}
	}
}

// pause is how long a process waits at first before it tries again to reach rank 0.
const pause = 10 * time.Millisecond

// newSelf returns what this process is known by.
func newSelf() (self [selfBytes]byte) {
	rand.Read(self[:])
	return self
}

// told is the error of a verdict.
func (m *meeting) told(err error) error {
	return fmt.Errorf("%w: rank 0 at %s: %w", ErrRendezvous, m.at, err)
}

// take returns what rank 0 gives, as many bytes as there are in value, and the contact with
// it. It tries again until rank 0 is there.
func (m *meeting) take(ctx context.Context, value []byte) (*contact, error) {
	self, pause := newSelf(), pause
	for {
		c, err := m.ask(ctx, self, value)
		switch {
		case err == nil, errors.Is(err, errSecret):
			return c, err
		case errors.As(err, new(verdict)):
			return nil, m.told(err)
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
var errSecret = fmt.Errorf("%w: rank 0 has another SINTER_DIST_SECRET", ErrRendezvous)

// A verdict is why rank 0 makes no group.
type verdict string

func (v verdict) Error() string { return string(v) }

// ask is one try of take.
func (m *meeting) ask(ctx context.Context, self [selfBytes]byte, value []byte) (_ *contact, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.at)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
		return nil, err
	}
	hello := []byte(magic)
	for _, n := range []int{m.rank, m.size, os.Getpid()} {
		hello = binary.LittleEndian.AppendUint32(hello, uint32(n))
	}
	hello = append(hello, self[:]...)
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
	welcome := make([]byte, proofBytes)
	if _, err := io.ReadFull(conn, welcome); err != nil {
		return nil, err
	}
	if !hmac.Equal(welcome, m.prove([]byte("rank 0"), nonce, mine)) {
		return nil, errSecret
	}
	if err := conn.SetDeadline(time.Time{}); err != nil { // ctx ends the wait
		return nil, err
	}
	if err := m.hear(conn, nonce, mine, value); err != nil {
		return nil, err
	}
	if !stop() {
		return nil, ctx.Err()
	}
	return m.contactOf(conn, false, nonce, mine), nil
}

// hear waits for rank 0's verdict, of what was asked with the nonces.
func (m *meeting) hear(conn net.Conn, nonce, mine, value []byte) error {
	head := make([]byte, verdictHead)
	if _, err := io.ReadFull(conn, head); err != nil {
		return fmt.Errorf("rank 0 was there, and did not have all ranks: %w", err)
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxVerdict {
		return fmt.Errorf("rank 0 says %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(conn, text); err != nil {
		return err
	}
	switch {
	case !hmac.Equal(head[1+4:], m.prove([]byte("verdict"), head[:1], nonce, mine, text)):
		return errSecret
	case head[0] != accepted:
		return verdict(text)
	case len(text) != len(value):
		return verdict(fmt.Sprintf("it gives %d bytes, want %d", len(text), len(value)))
	}
	copy(value, text)
	return nil
}

// judge sends a verdict.
func (m *meeting) judge(conn net.Conn, which byte, nonce, theirs, text []byte) error {
	text = text[:min(len(text), maxVerdict)]
	v := binary.LittleEndian.AppendUint32([]byte{which}, uint32(len(text)))
	v = append(v, m.prove([]byte("verdict"), v[:1], nonce, theirs, text)...)
	if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
		return err
	}
	_, err := conn.Write(append(v, text...))
	return err
}
