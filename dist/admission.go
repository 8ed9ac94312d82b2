package dist

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// An admission is what rank 0 knows of who came to a meeting.
type admission struct {
	*meeting
	news chan struct{}           // has room for one: someone came or went
	late func() <-chan time.Time // how long those that have not come yet are waited for, so that they are told what is wrong

	mu      sync.Mutex
	there   map[[selfBytes]byte]*visitor // whose connections stand
	over    string                       // why nobody is let in any more
	refused error                        // why the last was that is not the group's
}

// A visitor is a process that proved that it has the secret.
type visitor struct {
	rank, size, process int
	self                [selfBytes]byte
	conn                net.Conn
	nonce, theirs       []byte
	watched             chan struct{} // closed when nobody reads from conn
}

// String returns who it is.
func (v *visitor) String() string {
	return fmt.Sprintf("%s (process %d)", v.conn.RemoteAddr(), v.process)
}

// admit is give at a listener, which it closes.
func (m *meeting) admit(ctx context.Context, l net.Listener, value []byte) (map[int]*contact, error) {
	return newAdmission(m).admit(ctx, l, value)
}

func newAdmission(m *meeting) *admission {
	return &admission{meeting: m, news: make(chan struct{}, 1), there: map[[selfBytes]byte]*visitor{},
		late: func() <-chan time.Time { return time.After(patient) }}
}

// admit lets processes in at a listener, which it closes, and tells all that are there the verdict.
func (a *admission) admit(ctx context.Context, l net.Listener, value []byte) (map[int]*contact, error) {
	inside, leave := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { a.accept(inside, l, &all) })
	context.AfterFunc(inside, func() { l.Close() })
	why := a.await(ctx)
	a.end(why)
	leave()
	all.Wait()
	return a.dismiss(value, why)
}

// end lets nobody in any more, where that is for a reason.
func (a *admission) end(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why != nil {
		a.over = why.Error()
	}
}

// accept lets processes in until the listener is closed.
func (a *admission) accept(ctx context.Context, l net.Listener, all *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || err != nil && ctx.Err() != nil {
			return
		}
		if err != nil { // as where too many files are open, which ends
			a.refuse(err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		all.Go(func() {
			v, err := a.serve(ctx, conn)
			if err == nil {
				err = a.come(v)
			}
			if err != nil {
				a.refuse(err)
				conn.Close()
			}
		})
	}
}

// refuse notes why someone was not let in.
func (a *admission) refuse(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over == "" && !errors.Is(err, net.ErrClosed) { // else it was sent away
		a.refused = err
	}
}

// come notes a process that is there until its connection ends. One that is not let in any more is told why.
func (a *admission) come(v *visitor) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over != "" {
		return errors.Join(verdict(a.over), a.judge(v.conn, refused, v.nonce, v.theirs, []byte(a.over)))
	}
	if was := a.there[v.self]; was != nil {
		was.conn.Close() // by its side it has ended
	}
	a.there[v.self] = v
	go func() {
		defer close(v.watched)
		if _, err := v.conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.there[v.self] == v && a.over == "" {
			delete(a.there, v.self)
			v.conn.Close()
			a.tell()
		}
	}()
	a.tell()
	return nil
}

// tell has await look again.
func (a *admission) tell() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// await returns nil when all ranks are there, or why they cannot be a group.
func (a *admission) await(ctx context.Context) error {
	var late <-chan time.Time
	for {
		wrong, all := a.look()
		switch {
		case all && wrong == "":
			return nil
		case all:
			return verdict(wrong)
		case wrong != "" && late == nil:
			late = a.late()
		}
		select {
		case <-a.news:
		case <-late:
			if wrong, _ = a.look(); wrong != "" {
				return verdict(wrong)
			}
			late = nil
		case <-ctx.Done():
			return a.missed(ctx)
		}
	}
}

// look returns what is wrong with those that are there, and whether they are as many as one of them says that there are.
// Once all are there and nothing is wrong nobody is let in any more, nor counts as gone.
func (a *admission) look() (wrong string, all bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var faults []string
	most, ranks := a.size, map[int][]string{0: {fmt.Sprintf("%s (this process)", a.at)}}
	for _, v := range a.visitors() {
		switch most = max(most, v.size); {
		case v.size != a.size:
			faults = append(faults, fmt.Sprintf("rank 0 is one of %d ranks, rank %d, at %s, one of %d", a.size, v.rank, v, v.size))
		case v.rank < 0 || v.rank >= a.size:
			faults = append(faults, fmt.Sprintf("the process at %s says to be rank %d of %d", v, v.rank, v.size))
		}
		ranks[v.rank] = append(ranks[v.rank], v.String())
	}
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		if at := ranks[rank]; len(at) > 1 {
			faults = append(faults, fmt.Sprintf("%d processes say to be rank %d: %s", len(at), rank, strings.Join(at, ", ")))
		}
	}
	all = len(a.there) >= most-1
	if all && len(faults) == 0 {
		a.over = fmt.Sprintf("all %d ranks of the group were there before this process", a.size)
	}
	return strings.Join(faults, "; "), all
}

// visitors returns those that are there, by rank. The caller holds mu.
func (a *admission) visitors() (list []*visitor) {
	for _, v := range a.there {
		list = append(list, v)
	}
	slices.SortFunc(list, func(v, w *visitor) int {
		if v.rank != w.rank {
			return v.rank - w.rank
		}
		return strings.Compare(v.String(), w.String())
	})
	return list
}

// missed is the error of ranks that did not come before ctx ended.
func (a *admission) missed(ctx context.Context) error {
	wrong, _ := a.look()
	a.mu.Lock()
	defer a.mu.Unlock()
	came := map[int]bool{}
	for _, v := range a.there {
		came[v.rank] = true
	}
	var missing []int
	for r := 1; r < a.size; r++ {
		if !came[r] {
			missing = append(missing, r)
		}
	}
	err := context.Cause(ctx)
	if len(missing) > 0 {
		err = fmt.Errorf("%v did not come: %w", missing, err)
	}
	if wrong != "" {
		err = fmt.Errorf("%s; %w", wrong, err)
	}
	if a.refused != nil {
		err = fmt.Errorf("%w; one was refused: %w", err, a.refused)
	}
	return err
}

// dismiss tells those that are there the verdict: value, or why there is no group. It returns the contacts with them
// by rank.
func (a *admission) dismiss(value []byte, why error) (map[int]*contact, error) {
	which, text := byte(accepted), value
	if why != nil {
		which, text = refused, []byte(why.Error())
	}
	contacts := map[int]*contact{}
	var told sync.WaitGroup
	for _, v := range a.there {
		_ = v.conn.SetReadDeadline(time.Unix(1, 0)) // ends the watch
		<-v.watched
		contacts[v.rank] = a.contactOf(v.conn, true, v.nonce, v.theirs)
		told.Go(func() {
			_ = a.judge(v.conn, which, v.nonce, v.theirs, text) // who reads from it next finds that it has ended
			if why != nil {
				v.conn.Close()
			}
		})
	}
	told.Wait()
	if why != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrRendezvous, a.at, why)
	}
	return contacts, nil
}

// serve finds out who a process is, and whether it has the secret.
func (a *admission) serve(ctx context.Context, conn net.Conn) (*visitor, error) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
		return nil, err
	}
	hello := make([]byte, helloBytes)
	if _, err := io.ReadFull(conn, hello); err != nil {
		return nil, err
	}
	if string(hello[:len(magic)]) != magic {
		return nil, fmt.Errorf("%v does not speak as this version of the library does", conn.RemoteAddr())
	}
	v := &visitor{conn: conn, nonce: make([]byte, nonceBytes), watched: make(chan struct{})}
	place := hello[len(magic):]
	number := func(i int) int { return int(int32(binary.LittleEndian.Uint32(place[4*i:]))) }
	v.rank, v.size, v.process = number(0), number(1), number(2)
	copy(v.self[:], place[3*4:])
	rand.Read(v.nonce)
	if _, err := conn.Write(v.nonce); err != nil {
		return nil, err
	}
	answer := make([]byte, nonceBytes+proofBytes)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, err
	}
	v.theirs = answer[:nonceBytes]
	if !hmac.Equal(answer[nonceBytes:], a.prove([]byte("rank"), v.nonce, v.theirs, hello)) {
		err := fmt.Errorf("%v, as rank %d, has another SINTER_DIST_SECRET", conn.RemoteAddr(), v.rank)
		a.refuse(err)
		_, _ = conn.Write(make([]byte, proofBytes)) // which is no proof
		return nil, err
	}
	if _, err := conn.Write(a.prove([]byte("rank 0"), v.nonce, v.theirs)); err != nil {
		return nil, err
	}
	return v, conn.SetDeadline(time.Time{})
}
