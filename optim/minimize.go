package optim

import (
	"errors"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
)

// Minimize makes one step of training: it removes the gradients of the optimizer's
// parameters, calls loss, which computes the loss from them, computes their gradients, and
// calls the optimizer's Step. It returns the loss before the step, detached: Item gives the
// number. All else that was made meanwhile is released. What loss made is released when it
// returns, so that the pass frees what it needs no more as it goes: what loss wants to keep
// beyond its call, for hooks too, it gives to tensor.Keep.
//
// Where loss or its gradients fail, no parameter has changed. What a program does
// between gradients and step (clipping, sums over several batches) is written out:
// ZeroGrad, Backward and Step in a tensor.Scope.
func Minimize(o Optimizer, loss func() tensor.Tensor) (tensor.Tensor, error) {
	if o == nil || loss == nil {
		return tensor.Tensor{}, errors.New("optim: Minimize wants an optimizer and a function that computes the loss")
	}
	return tensor.ScopeValue(func() (tensor.Tensor, error) {
		if err := o.ZeroGrad(); err != nil {
			return tensor.Tensor{}, err
		}
		value := loss()
		core.ReleaseBut(value.Handle())
		if err := value.Backward(); err != nil {
			return tensor.Tensor{}, err
		}
		return value.Detach(), o.Step()
	})
}
