package core

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
)

// leafHooks is how many hooks and takers leaves have in the process: without any, a pass
// need not know when a leaf's gradient is complete.
var leafHooks atomic.Int64

// A dueLeaf is a leaf with hooks or a taker. Its gradient is complete when no node is left that
// was recorded at first or later.
type dueLeaf struct {
	state *gradState
	first uint64
}

// findDue lists the leaves with hooks or a taker in the order in which they become complete. Nodes
// run latest first, so that what a leaf is read by first decides.
func (e *engine) findDue() {
	if leafHooks.Load() == 0 {
		return
	}
	first := map[*gradState]uint64{}
	for _, s := range e.order { // roots
		first[s] = math.MaxUint64
	}
	e.eachNode(func(n *Node) {
		for i := range n.in {
			if s := n.in[i].state; s != nil && s.node == nil {
				if at, seen := first[s]; !seen || n.seq < at {
					first[s] = n.seq
				}
			}
		}
	})
	for s, at := range first {
		s.mu.Lock()
		hooked := len(s.hooks) > 0 || s.taker != nil
		s.mu.Unlock()
		if hooked {
			e.due = append(e.due, dueLeaf{s, at})
		}
	}
	slices.SortFunc(e.due, func(a, b dueLeaf) int { return cmp.Compare(b.first, a.first) })
}

// eachNode calls f for every node that the roots were made from.
func (e *engine) eachNode(f func(n *Node)) {
	seen := map[*Node]bool{}
	list := slices.Clone([]*Node(e.queue))
	for _, n := range list {
		seen[n] = true
	}
	for i := 0; i < len(list); i++ {
		f(list[i])
		for j := range list[i].in {
			if s := list[i].in[j].state; s != nil && s.node != nil && !seen[s.node] {
				seen[s.node] = true
				list = append(list, s.node)
			}
		}
	}
}

// runDue runs the hooks of the leaves that have become complete.
func (e *engine) runDue() error {
	for len(e.due) > 0 && (e.queue.Len() == 0 || e.due[0].first > e.queue[0].seq) {
		s := e.due[0].state
		e.due = e.due[1:]
		g, reached := e.leaves[s]
		if !reached {
			continue
		}
		var err error
		e.leaves[s], err = e.visit(s, g)
		e.visited = append(e.visited, s)
		if err == nil {
			err = e.hand(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
