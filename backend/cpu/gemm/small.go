package gemm

import "unsafe"

// smallWork is how many products a product has at most that is computed at once,
// without a job: for these what surrounds the kernels counts.
const smallWork = 32 << 10

// runSmall computes a small product whose operands are read where they are and
// reports true, or does nothing.
func runSmall[T Number](e *engine, p *Product[T]) bool {
	if p.M*p.N*p.K > smallWork || p.K > e.depth || e.family == portable || p.PackA != nil || p.PackB != nil ||
		p.N > 1 && (p.B.Col != 1 || p.C.Col != 1) || p.BiasRows && p.Bias != nil {
		return false
	}
	t := tile{
		a: p.A.Ptr, aRow: p.A.Row * e.size, aCol: p.A.Col * e.size,
		bRow: p.B.Row * e.size, k: p.K, cRow: p.C.Row * e.size,
	}
	if p.Add {
		t.srcRow = t.cRow
	}
	for c := 0; c < p.N; c += e.columns() {
		now := t
		now.b, now.c = unsafe.Add(p.B.Ptr, c*e.size), unsafe.Add(p.C.Ptr, c*e.size)
		switch {
		case p.Add:
			now.src = now.c
		case p.Bias != nil:
			now.src = unsafe.Add(p.Bias, c*e.size)
		}
		n := min(e.columns(), p.N-c)
		class, last := e.classOf(n)
		now.last = last
		multiply[T](e, &now, class, e.split(p.M, class, p.M), n)
	}
	if p.Done != nil {
		p.Done(0, p.M, 0, p.N)
	}
	return true
}
