package core

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// keptForms is what devices keep beside a storage, made of its contents at a version.
type keptForms struct {
	ir.Kept
	version int64
}

// A forgetter is what read-only memory is of that need not stay resident.
type forgetter interface{ ForgetPart(part []byte) }

// keeps returns what is kept beside the storage as it is now.
func (s *Storage) keeps() *ir.Kept {
	version := s.version.Load()
	k := s.kept.Load()
	if k == nil || k.version != version {
		k = &keptForms{version: version}
		if f, ok := s.fixed.(forgetter); ok {
			part := unsafe.Slice((*byte)(s.block.Host), s.bytes)
			k.Made = func() { f.ForgetPart(part) }
		}
		s.kept.Store(k)
	}
	return &k.Kept
}

// keeping returns which operands of a step devices may keep forms of: those in host memory
// that was there before the program was recorded, and that no step writes. Versions tell
// when somebody else of this process does, so it is memory that no other process has, and no
// copy of a device's writes later. It returns nil where there are none.
func (rec *Recorded) keeping(s *step) (operands []int) {
	if s.Action != program.Launch || s.dev.Accelerator() || s.Call.Op.Kind != ir.Opaque {
		return nil
	}
	for j, r := range s.In {
		if r.Buffer < 0 || rec.written[r.Buffer] {
			continue
		}
		if b := &rec.buffers[r.Buffer]; (b.Kind == program.Constant || b.Kind == program.State) && b.storage != nil && b.storage.block.Host != nil && b.storage.block.Collected() && b.Bytes >= leastKept {
			operands = append(operands, j)
		}
	}
	return operands
}

// leastKept is how many bytes an operand has at least for another form of it to be worth while.
const leastKept = 1 << 10
