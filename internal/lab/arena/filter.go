package arena

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// filter is run by the kernel and lets few packets through: of those sent, once each,
// the ones to and from backends that open, end or reset a connection, and those that
// carry data to a backend. Answers and acknowledgements, which are most, stay outside.
func filter() ([]unix.SockFilter, error) {
	const (
		keep, drop = 26, 27
		first      = 10 // byte of [Net]
		most       = 96 // bytes of a packet: its headers, but for the longest options
	)
	port := uint32(proxy.BackendPort)
	to := func(here, there int) uint8 { return uint8(there - here - 1) }
	program := []bpf.Instruction{
		0:  bpf.LoadExtension{Num: bpf.ExtProto},
		1:  bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.ETH_P_IP, SkipTrue: to(1, drop)},
		2:  bpf.LoadExtension{Num: bpf.ExtType},
		3:  bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.PACKET_OUTGOING, SkipTrue: to(3, drop)},
		4:  bpf.LoadAbsolute{Off: 9, Size: 1},
		5:  bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolTCP, SkipTrue: to(5, drop)},
		6:  bpf.LoadMemShift{Off: 0}, // X: length of the IP header
		7:  bpf.LoadIndirect{Off: 2, Size: 2},
		8:  bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: port, SkipTrue: to(8, 19)},
		9:  bpf.LoadAbsolute{Off: 16, Size: 1},
		10: bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: first, SkipTrue: to(10, 19)},
		// To a backend.
		11: bpf.LoadIndirect{Off: 13, Size: 1},
		12: bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: flagSYN | flagFIN | flagRST, SkipTrue: to(12, keep)},
		13: bpf.LoadIndirect{Off: 12, Size: 1},
		14: bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		15: bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2},
		16: bpf.ALUOpX{Op: bpf.ALUOpAdd},
		17: bpf.TAX{}, // X: length of both headers
		18: bpf.Jump{Skip: uint32(to(18, 24))},
		// From a backend.
		19: bpf.LoadIndirect{Off: 0, Size: 2},
		20: bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: port, SkipTrue: to(20, drop)},
		21: bpf.LoadIndirect{Off: 13, Size: 1},
		22: bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: flagSYN | flagRST, SkipTrue: to(22, keep)},
		23: bpf.RetConstant{Val: 0},
		// Does it carry data?
		24:   bpf.LoadAbsolute{Off: 2, Size: 2},
		25:   bpf.JumpIfX{Cond: bpf.JumpLessOrEqual, SkipTrue: to(25, drop)},
		keep: bpf.RetConstant{Val: most},
		drop: bpf.RetConstant{Val: 0},
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assemble the packet filter: %w", err)
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}
