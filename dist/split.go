package dist

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// Split makes groups of the ranks of this one: those that pass the same color are in a group,
// ranked by key and, where keys are equal, by their rank here. A rank whose color is negative
// is in none and gets nil. All ranks call it, while none has other calls under way. The new
// groups have this one's devices and timeout, and are closed by themselves; a rank drives one
// group at a time unless all its members do the same in the same order.
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
	return newGroup(comm, g.timeout, g.order.sub(string(seed), len(members)))
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
