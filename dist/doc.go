// Package dist trains over several devices, in one process or in many: groups of ranks that
// make collective calls, and data parallel training on top of them.
//
// One process can drive all devices of a machine, a goroutine each:
//
//	return dist.Run(devices, func(g *dist.Group) error {
//		model, err := dist.NewDistributedDataParallel(g, newModel(g.Device()))
//		if err != nil {
//			return err
//		}
//		return train(model, g) // as on one device, with this rank's part of each batch
//	})
//
// # Calls
//
// AllReduce and the others return at once with a Work. What is computed after its Wait sees
// the results: on the CPU Wait waits, on an accelerator the current stream does. Batch makes
// several calls together.
//
// # Faults
//
// A rank that does not come within the group's timeout, that makes another call than the
// others or closes the group makes it of no more use: every rank gets an error that says
// which rank, which call and which shapes. A new group can be made afterwards.
package dist
