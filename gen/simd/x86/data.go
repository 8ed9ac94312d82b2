package x86

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A constant is what all lanes hold, or a whole register's bytes.
type constant struct {
	size int // of the repeated element; 0: data is it all
	bits uint64
	data string
}

func splat(size int, bits uint64) constant {
	for size > 1 { // the smallest element makes equal constants of equal bytes
		half := size / 2
		mask := uint64(1)<<(8*half) - 1
		if bits>>(8*half)&mask != bits&mask {
			break
		}
		size, bits = half, bits&mask
	}
	return constant{size: size, bits: bits}
}

func (c constant) isZero() bool { return c.size == 1 && c.bits == 0 }
func (c constant) isOnes() bool { return c.size == 1 && c.bits == 0xff }

// complement has the opposite bits of a repeated element.
func (c constant) complement() constant {
	return splat(c.size, ^c.bits&(^uint64(0)>>(64-8*c.size)))
}

// repeat is n bytes of the constant.
func (c constant) repeat(n int) string {
	data := c.data
	if c.size > 0 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], c.bits)
		data = string(b[:c.size])
	}
	return strings.Repeat(data, (n+len(data)-1)/len(data))[:n]
}

// pool collects the read-only data of a file.
type pool struct {
	known map[string]bool
}

// symbol of a file's data.
const poolName = "lanes<>"

// ref is a reference to data, replaced by its address when the pool is complete.
// Data has 4, 8, 16, 32 or 64 bytes.
func (p *pool) ref(data string) string {
	if p.known == nil {
		p.known = map[string]bool{}
	}
	p.known[data] = true
	return fmt.Sprintf("\x00%x\x00", data)
}

// layout returns the data, larger first, and replaces references in text.
func (p *pool) layout(text string) (string, string) {
	var all []string
	for d := range p.known {
		all = append(all, d)
	}
	sort.Slice(all, func(i, j int) bool {
		if len(all[i]) != len(all[j]) {
			return len(all[i]) > len(all[j])
		}
		return all[i] < all[j]
	})
	placed := ""
	var replace []string
	for _, d := range all {
		at := strings.Index(placed, d)
		for at >= 0 && at%len(d) != 0 {
			next := strings.Index(placed[at+1:], d)
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 {
			at = len(placed)
			placed += d
		}
		replace = append(replace, fmt.Sprintf("\x00%x\x00", d), fmt.Sprintf("%s+%d(SB)", poolName, at))
	}
	if placed == "" {
		return text, ""
	}
	placed += strings.Repeat("\x00", -len(placed)&7)
	var b strings.Builder
	for i := 0; i < len(placed); i += 8 {
		fmt.Fprintf(&b, "DATA %s+%d(SB)/8, $0x%016x\n", poolName, i, binary.LittleEndian.Uint64([]byte(placed[i:i+8])))
	}
	fmt.Fprintf(&b, "GLOBL %s(SB), RODATA|NOPTR, $%d\n", poolName, len(placed))
	return strings.NewReplacer(replace...).Replace(text), b.String()
}
