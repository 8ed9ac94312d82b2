package ir

import "sync"

// Kept is other forms of memory whose contents do not change, which kernels make of it
// once: a weight in the order in which a kernel reads it. It lies beside the memory and is
// dropped with it, and another one takes its place when the memory was written. Any
// goroutine may use it.
type Kept struct {
	// Made, unless nil, is called when a form was made: the memory is read less from then on.
	Made func()

	mu    sync.Mutex
	forms []*keptForm
}

type keptForm struct {
	key  any
	once sync.Once
	made any
}

// mostForms is how many forms there are of one memory at most.
const mostForms = 8

// Form returns the form with a key, which must be a comparable value of a type that is the
// kernel's own, and say all that the form depends on. Make makes it when it is asked for a
// second time: memory that is written between two calls has none. Form returns nil where
// there is none.
func (k *Kept) Form(key any, make func() any) any {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	for _, f := range k.forms {
		if f.key == key {
			k.mu.Unlock()
			f.once.Do(func() {
				if f.made = make(); k.Made != nil {
					k.Made()
				}
			})
			return f.made
		}
	}
	if len(k.forms) < mostForms {
		k.forms = append(k.forms, &keptForm{key: key})
	}
	k.mu.Unlock()
	return nil
}

// KeptOf returns what is kept beside operand i, nil where nothing is.
func (c *Call) KeptOf(i int) *Kept {
	if i >= len(c.Kept) {
		return nil
	}
	return c.Kept[i]
}
