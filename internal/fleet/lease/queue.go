package lease

// queue has leases in order of when they end, for container/heap.
type queue []*granted

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].ExpiresAt.Before(q[j].ExpiresAt) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	g := x.(*granted)
	g.place = len(*q)
	*q = append(*q, g)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	g := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return g
}
