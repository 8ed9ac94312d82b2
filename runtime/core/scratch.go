package core

import (
	"sync"

	"github.com/sinter-go/sinter/ir/program"
)

// A scratch is lists and maps of a recorder that nobody needs once the recording has ended.
// One recorder at a time has it.
type scratch struct {
	program  []step
	buffers  []recordedBuffer
	handles  []*Tensor
	known    map[*Storage]int
	declared map[*Storage]*Tensor
	names    map[*Storage]string
	draft    struct {
		buffers []program.Buffer
		steps   []program.Step
	}
	used usage
}

// usage is how many elements of slabs a recording took: the next one may be like it.
type usage struct{ views, refs, ints, storages, tensors, nodes int }

// expect has slabs begin with as large a piece as a recording of such a usage needs.
func (r *recorder) expect(u usage) {
	r.views.expect(u.views)
	r.refs.expect(u.refs)
	r.ints.expect(u.ints)
	r.storages.expect(u.storages)
	r.tensors.expect(u.tensors)
	r.nodes.expect(u.nodes)
}

// usage returns the recording's.
func (r *recorder) usage() usage {
	return usage{r.views.used, r.refs.used, r.ints.used, r.storages.used, r.tensors.used, r.nodes.used}
}

// scratches are those that no recorder has. They refer to nothing.
var scratches = sync.Pool{New: func() any { return newScratch() }}

func newScratch() *scratch {
	return &scratch{program: make([]step, 0, 32), buffers: make([]recordedBuffer, 0, 64),
		known: map[*Storage]int{}, declared: map[*Storage]*Tensor{}, names: map[*Storage]string{}}
}

// mostScratch is how many steps, buffers and handles a recording has at most whose scratch is
// kept for others.
const mostScratch = 1 << 12

// useScratch gives the recorder its lists and maps. A program whose steps are run as they
// were recorded keeps them.
func (r *recorder) useScratch() {
	var s *scratch
	if r.unfused || r.later {
		s = newScratch()
	} else {
		s = scratches.Get().(*scratch)
		r.scratch = s
	}
	r.expect(s.used)
	r.program, r.buffers, r.handles = s.program, s.buffers, s.handles
	r.known, r.declared, r.names = s.known, s.declared, s.names
}

// giveScratch ends a recording that did not fail, of which no list and no map is used any
// more.
func (r *recorder) giveScratch() {
	s := r.scratch
	if r.scratch = nil; s == nil || max(cap(r.recorded), cap(r.buffers), cap(r.handles)) > mostScratch {
		return
	}
	s.program, s.buffers, s.handles = emptied(r.recorded), emptied(r.buffers), emptied(r.handles)
	clear(s.known)
	clear(s.declared)
	clear(s.names)
	s.draft.buffers, s.draft.steps = emptied(s.draft.buffers), emptied(s.draft.steps)
	s.used = r.usage()
	scratches.Put(s)
}

// emptied returns an empty list with the room of list, which refers to nothing.
func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}
