package lease

// bitset has as many words as its highest bit needs, or more.
type bitset []uint64

func (b *bitset) set(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) clear(i int) {
	if i/64 < len(b) {
		b[i/64] &^= 1 << (i % 64)
	}
}

// insert makes room for a bit at i, which is clear; the bits from there move up.
func (b *bitset) insert(i int) {
	w := i / 64
	if w >= len(*b) {
		return
	}
	if (*b)[len(*b)-1]>>63 == 1 {
		*b = append(*b, 0)
	}
	for j := len(*b) - 1; j > w; j-- {
		(*b)[j] = (*b)[j]<<1 | (*b)[j-1]>>63
	}
	low := uint64(1)<<(i%64) - 1
	(*b)[w] = (*b)[w]&low | (*b)[w]&^low<<1
}

// remove takes the bit at i out; the bits after it move down.
func (b bitset) remove(i int) {
	w := i / 64
	if w >= len(b) {
		return
	}
	low := uint64(1)<<(i%64) - 1
	b[w] = b[w]&low | b[w]>>1&^low
	for j := w + 1; j < len(b); j++ {
		b[j-1] |= b[j] << 63
		b[j] >>= 1
	}
}
