package addresses_test

import (
	"go/ast"
	"go/token"
	"go/types"
)

// An address that a loop moves on lies behind the end of its memory after the last
// round, in other memory or none. Where it stays in a variable, the collector looks
// there: it keeps what it finds alive, or stops the program with "found bad pointer"
// or "marked free object in span". So a loop makes the address it uses,
//
//	for i := range n {
//		p := unsafe.Add(base, i*step)
//
// or it moves one on in one of these forms:
//
//	p = unsafe.Add(p, step) // before a use in the same round
//
//	if n -= m; n == 0 {
//		return // or break, or continue
//	}
//	p = unsafe.Add(p, m)
//
//	if n > m { // or any other comparison of this round's
//		p = unsafe.Add(p, m)
//	}
//
//	for ; n > piece; n -= piece { // a bound that leaves something for behind the loop
//		...
//		p = unsafe.Add(p, piece)
//	}
//	f(p, n)
//
// What is compared is for the reader to check.

// advance reports an assignment, the last node of the stack, that moves an address on
// in a loop, in another form than these.
func (c *checker) advance(n *ast.AssignStmt, stack []ast.Node) {
	if n.Tok != token.ASSIGN || len(n.Lhs) != len(n.Rhs) {
		return
	}
	for i, to := range n.Lhs {
		if !c.moved(n.Rhs[i]) {
			continue
		}
		if loop, inner := c.carrier(to, stack); loop != nil && !c.safe(to, n, loop, inner) {
			c.report(n, "%s may lie behind the end of memory after the last round", types.ExprString(to))
		}
	}
}

// moved reports whether an expression is an address, made of another by an addition.
func (c *checker) moved(e ast.Expr) bool {
	if t := c.typeOf(e); !isUnsafe(t) && pointee(t) == nil {
		return false
	}
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			s, ok := call.Fun.(*ast.SelectorExpr)
			found = found || ok && c.info.Uses[s.Sel] == types.Unsafe.Scope().Lookup("Add") || c.isAddress(call)
		}
		return !found
	})
	return found
}

// carrier returns the innermost loop of the stack that hands what is assigned to from
// one round to the next, and what lies between it and the assignment, outermost first.
func (c *checker) carrier(to ast.Expr, stack []ast.Node) (loop ast.Node, inner []ast.Node) {
	root := c.info.Uses[rootOf(to)]
	var nested ast.Node // the loop in the one that is looked at
	for i := len(stack) - 2; i >= 0 && root != nil; i-- {
		at := stack[i]
		switch at := at.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return nil, nil
		case *ast.ForStmt:
			if at.Init != nil && within(root, at.Init) {
				return at, stack[i+1:]
			}
		case *ast.RangeStmt:
		default:
			continue
		}
		if within(root, at) {
			return nil, nil
		}
		own := false // whether each round has an element of its own
		ast.Inspect(to, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if v := c.info.Uses[id]; ok && v != nil && within(v, at) && (nested == nil || !within(v, nested)) {
				own = true
			}
			return true
		})
		if !own {
			return at, stack[i+1:]
		}
		nested = at
	}
	return nil, nil
}

// within reports whether a variable is declared in a node.
func within(v types.Object, n ast.Node) bool { return v.Pos() >= n.Pos() && v.Pos() < n.End() }

func (c *checker) body(loop ast.Node) *ast.BlockStmt {
	if l, ok := loop.(*ast.ForStmt); ok {
		return l.Body
	}
	return loop.(*ast.RangeStmt).Body
}

// safe reports whether an assignment in a loop is one of the forms.
func (c *checker) safe(to ast.Expr, n *ast.AssignStmt, loop ast.Node, inner []ast.Node) bool {
	body := c.body(loop)
	if n.Pos() >= body.Pos() && c.usedIn(to, n.End(), body) {
		return true
	}
	if l, ok := loop.(*ast.ForStmt); ok && c.leaves(l) {
		return true
	}
	for i, at := range inner[:len(inner)-1] {
		switch at := at.(type) {
		case *ast.IfStmt:
			if inner[i+1] == at.Body && compares(at.Cond) {
				return true
			}
		case *ast.BlockStmt:
			for _, s := range at.List {
				if s == inner[i+1] {
					break
				}
				if s, ok := s.(*ast.IfStmt); ok && compares(s.Cond) && exits(s.Body) {
					return true
				}
			}
		}
	}
	return false
}

// usedIn reports whether the variable is read behind a place in a block.
func (c *checker) usedIn(to ast.Expr, from token.Pos, block *ast.BlockStmt) bool {
	root, used := c.info.Uses[rootOf(to)], false
	ast.Inspect(block, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && a.Pos() >= from {
			for i := range a.Lhs { // moved on once more
				if i < len(a.Rhs) && c.moved(a.Rhs[i]) && types.ExprString(a.Lhs[i]) == types.ExprString(to) {
					return false
				}
			}
		}
		id, ok := n.(*ast.Ident)
		used = used || ok && id.Pos() >= from && c.info.Uses[id] == root
		return !used
	})
	return used
}

// leaves reports whether a loop ends while more than nothing is left.
func (c *checker) leaves(l *ast.ForStmt) bool {
	b, ok := l.Cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.GTR {
		return false
	}
	v := c.info.Types[b.Y].Value
	return v == nil || v.String() != "0"
}

// compares reports whether a condition compares two numbers.
func compares(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok {
			switch b.Op {
			case token.LSS, token.LEQ, token.GTR, token.GEQ:
				found = true
			case token.EQL, token.NEQ:
				id, ok := b.Y.(*ast.Ident)
				found = found || !ok || id.Name != "nil"
			}
		}
		return true
	})
	return found
}

// exits reports whether a block ends the round.
func exits(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// rootOf returns the variable that an expression is part of.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
