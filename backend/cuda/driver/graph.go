package driver

import (
	"encoding/binary"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// Handles of recorded work. 0 is none.
type (
	Graph     uintptr // work as it was recorded
	GraphExec uintptr // work made ready to be launched
	GraphNode uintptr // one copy, clearing or kernel of a Graph
)

// GraphAPI is the part of the driver that records work and does it again.
//
// Captures are relaxed: calls of other goroutines go on as before, and any
// goroutine may end a capture. A stream that is captured, and an event recorded
// on one, must not be waited for or asked about: such a call fails, and so does
// the capture.
type GraphAPI interface {
	// StreamBeginCapture makes s, not the default stream, record what it is given.
	StreamBeginCapture(dev int, s Stream) error
	// StreamEndCapture ends what began on s. The graph is the caller's to destroy.
	// The error wraps CaptureInvalid after a call that cannot be recorded, and
	// CaptureUnjoined where a stream that joined was not waited for.
	StreamEndCapture(dev int, s Stream) (Graph, error)
	// StreamCaptureInfo says whether s is captured, and as part of what.
	StreamCaptureInfo(dev int, s Stream) (CaptureInfo, error)

	// GraphNodes returns how many nodes g has.
	GraphNodes(dev int, g Graph) (int, error)
	GraphDestroy(dev int, g Graph) error
	// GraphInstantiate makes g's work ready. Later changes of g, and its end, make
	// no difference to that; but g's nodes, by which those of the GraphExec are named,
	// end with g.
	GraphInstantiate(dev int, g Graph) (GraphExec, error)
	// GraphLaunch gives the work to a stream, as one piece of work. Launches of one
	// GraphExec follow one another, whatever their streams.
	GraphLaunch(dev int, x GraphExec, s Stream) error
	// GraphExecDestroy returns at once; launches that are under way are finished.
	GraphExecDestroy(dev int, x GraphExec) error
	// SetKernelNode gives the kernel of a node new parameters in the launches to
	// come. The node is one of the graph that x was made of, which is not destroyed
	// yet. l.Stream is not used, and the kernel must be of the same context.
	SetKernelNode(dev int, x GraphExec, n GraphNode, l Launch) error
}

// CaptureInfo is what is known of a captured stream.
type CaptureInfo struct {
	Status CaptureStatus
	ID     uint64    // of the capture, unique in the process; 0 with CaptureNone
	Last   GraphNode // what comes next follows this one node; 0 for none or several
}

func (b *binding) StreamBeginCapture(dev int, s Stream) error {
	const relaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED
	return b.on(cuStreamBeginCapture, dev, uintptr(s), relaxed)
}

func (b *binding) StreamEndCapture(dev int, s Stream) (Graph, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuStreamEndCapture, dev, c, uintptr(s), c.Addr(0)); err != nil {
		return 0, err
	}
	return Graph(c.Words[0]), nil
}

func (b *binding) StreamCaptureInfo(dev int, s Stream) (CaptureInfo, error) {
	c := dl.Get()
	defer c.Free()
	// Words: status, capture, graph, list of nodes to follow, their number.
	err := b.onFrame(cuStreamGetCaptureInfo, dev, c, uintptr(s), c.Addr(0), c.Addr(1), c.Addr(2), c.Addr(3), c.Addr(4))
	info := CaptureInfo{Status: CaptureStatus(int32(c.Words[0]))}
	if err != nil || info.Status == CaptureNone {
		return info, err
	}
	info.ID = uint64(c.Words[1])
	if info.Status == CaptureActive && c.Words[4] == 1 {
		info.Last = GraphNode(*(*uintptr)(c.Pointer(3)))
	}
	return info, nil
}

func (b *binding) GraphNodes(dev int, g Graph) (int, error) {
	c := dl.Get()
	defer c.Free()
	err := b.onFrame(cuGraphGetNodes, dev, c, uintptr(g), 0, c.Addr(0))
	return int(c.Words[0]), err
}

func (b *binding) GraphDestroy(dev int, g Graph) error { return b.on(cuGraphDestroy, dev, uintptr(g)) }

func (b *binding) GraphInstantiate(dev int, g Graph) (GraphExec, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuGraphInstantiateWithFlags, dev, c, c.Addr(0), uintptr(g), 0); err != nil {
		return 0, err
	}
	return GraphExec(c.Words[0]), nil
}

func (b *binding) GraphLaunch(dev int, x GraphExec, s Stream) error {
	return b.on(cuGraphLaunch, dev, uintptr(x), uintptr(s))
}

func (b *binding) GraphExecDestroy(dev int, x GraphExec) error {
	return b.on(cuGraphExecDestroy, dev, uintptr(x))
}

// The driver's CUDA_KERNEL_NODE_PARAMS, second version, in bytes, and behind it the
// list of keys and values that LaunchKernel hands over too.
const (
	nodeFunction = 0
	nodeGrid     = 8 // three words of 4 bytes, then the block's three, then shared memory
	nodeExtra    = 48
	nodeSize     = 72
	extraSize    = 6 * 8
)

// SetKernelNode builds the driver's struct and the parameters in the frame.
func (b *binding) SetKernelNode(dev int, x GraphExec, n GraphNode, l Launch) error {
	c := dl.Get()
	defer c.Free()
	buf, at := c.Bytes(nodeSize + extraSize + len(l.Params))
	clear(buf[:nodeSize+extraSize])
	le := binary.LittleEndian
	le.PutUint64(buf[nodeFunction:], uint64(l.Function))
	for i, v := range [...]uint32{l.Grid.X, l.Grid.Y, l.Grid.Z, l.Block.X, l.Block.Y, l.Block.Z, l.Shared} {
		le.PutUint32(buf[nodeGrid+4*i:], v)
	}
	if len(l.Params) > 0 {
		copy(buf[nodeSize+extraSize:], l.Params)
		size := at + nodeSize + 5*unsafe.Sizeof(at)
		le.PutUint64(buf[nodeExtra:], uint64(at+nodeSize))
		for i, v := range [...]uintptr{launchParams, at + nodeSize + extraSize, launchParamsSize, size, launchEnd, uintptr(len(l.Params))} {
			le.PutUint64(buf[nodeSize+8*i:], uint64(v))
		}
	}
	err := b.onFrame(cuGraphExecKernelNodeSetParams, dev, c, uintptr(x), uintptr(n), at)
	if err != nil {
		return launchFailed(err, l.Grid, l.Block, l.Shared, len(l.Params))
	}
	return nil
}
