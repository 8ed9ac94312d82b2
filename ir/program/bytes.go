package program

import "github.com/sinter-go/sinter/ir"

// Bytes returns how many bytes of tensors the steps read and write, and the least that a
// program could which is given and gives the same: what it reads of what is not its own,
// and what it writes there, each once.
func (p *Program) Bytes() (moved, least int64) {
	type use struct{ read, written int64 }
	uses := make([]use, len(p.Buffers))
	for i := range p.Steps {
		s := &p.Steps[i]
		for j, r := range s.In {
			if r.Buffer >= 0 {
				n := s.bytes(s.Call.In, j)
				moved += n
				uses[r.Buffer].read += n
			}
		}
		for j, r := range s.Out {
			if r.Buffer >= 0 {
				n := s.bytes(s.Call.Out, j)
				moved += n
				uses[r.Buffer].written += n
			}
		}
	}
	for i, u := range uses {
		b := &p.Buffers[i]
		switch b.Kind {
		case Temporary:
			continue
		case Result:
			u.read = 0
		}
		least += min(u.read, b.Bytes) + min(u.written, b.Bytes)
	}
	return moved, least
}

// bytes returns how many bytes the step moves of place j of a list.
func (s *Step) bytes(views []ir.View, j int) int64 {
	switch {
	case s.Action == Effect:
		return 0
	case j < len(views):
		return views[j].Bytes()
	}
	return s.Bytes
}
