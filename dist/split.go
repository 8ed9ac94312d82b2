package dist

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Split makes groups of the ranks of this one: those that pass the same color are in a group,
// ranked by key and, where keys are equal, by their rank here. A rank whose color is negative
// is in none and gets nil. All ranks call it, while none has other calls under way. The new
// groups have this one's devices and timeout, and are closed by themselves; who gives this one up gives up
// those that it is in. A rank drives one group at a time unless all its members do the same in the same order.
func (g *Group) Split(color, key int) (*Group, error) {
	if !g.made() {
		return nil, errNil
	}
	sub, err := g.split(color, key)
	if err != nil {
		return nil, fmt.Errorf("dist: rank %d: Split into color %d: %w", g.Rank(), color, err)
	}
	return sub, nil
}

func (g *Group) split(color, key int) (*Group, error) {
	var mine []byte
	for _, v := range []int{color, key} {
		mine = binary.LittleEndian.AppendUint64(mine, uint64(v))
	}
	all, err := g.gatherBytes(mine)
	if err != nil {
		return nil, err
	}
	members := membersOf(all, color)
	seed, err := g.seed(members)
	if err != nil {
		return nil, err
	}
	comm, err := g.comm.Split(members, seed)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	sub, err := newGroup(comm, g.timeout, g.order.sub(string(seed), len(members)))
	if err == nil {
		sub.from = g
		if why := g.parts.add(sub); why != nil {
			sub.Abort(why)
		}
	}
	return sub, err
}

// Parts are the groups that were split off from one, and are not closed.
type parts struct {
	mu   sync.Mutex // guards what follows; not held in calls of engines
	open map[*Group]struct{}
	why  error // the group was given up: it is what parts are given up for
}

// add adds a part, and returns why it is to be given up.
func (p *parts) add(g *Group) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[*Group]struct{}{}
	}
	p.open[g] = struct{}{}
	return p.why
}

// drop drops a part that is closed.
func (p *parts) drop(g *Group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, g)
}

// abort gives the parts up: ranks of them wait for this one, which gave their group up.
func (p *parts) abort(reason error) {
	p.mu.Lock()
	if p.why == nil {
		p.why = fmt.Errorf("the group that this one was split off from was given up: %w", reason)
	}
	why, list := p.why, slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	for _, g := range list {
		g.Abort(why)
	}
}

// membersOf returns the ranks that passed a color, by key, of what every rank passed.
func membersOf(all [][]byte, color int) (members []int) {
	if color < 0 {
		return nil
	}
	keys := make([]int, len(all))
	for r, b := range all {
		keys[r] = int(binary.LittleEndian.Uint64(b[8:]))
		if int(binary.LittleEndian.Uint64(b)) == color {
			members = append(members, r)
		}
	}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	return members
}

// seed returns what the first of the members gives to the others. Where one could not make
// any, every rank of the group returns why.
func (g *Group) seed(members []int) ([]byte, error) {
	const made, failed = 0, 1
	var mine []byte
	if len(members) > 0 && members[0] == g.Rank() {
		seed, err := g.comm.Seed()
		if mine = append([]byte{made}, seed...); err != nil {
			mine = append([]byte{failed}, err.Error()...)
		}
	}
	all, err := g.gatherBytes(mine)
	if err != nil {
		return nil, err
	}
	for r, b := range all {
		if len(b) > 0 && b[0] == failed {
			return nil, fmt.Errorf("rank %d: %s", r, b[1:])
		}
	}
	if len(members) == 0 {
		return nil, nil
	}
	return all[members[0]][1:], nil
}
