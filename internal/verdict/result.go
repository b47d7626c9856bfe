package verdict

// Result is what a deciding function returns for one object: a contribution to
// the output, or an exclusion with a reason. Make one with Contribute or Exclude;
// the zero Result is neither and counts as an exclusion for the reason Unexplained.
type Result[T any] struct {
	value   T
	steps   []Step
	decided bool
	serves  bool
}

// Contribute returns a Result that has an effect; steps may carry warnings.
func Contribute[T any](value T, steps ...Step) Result[T] {
	return Result[T]{value: value, steps: steps, decided: true, serves: true}
}

// Exclude returns a Result without effect and the reason for it.
func Exclude[T any](why Step, more ...Step) Result[T] {
	return Result[T]{steps: append([]Step{why}, more...), decided: true}
}

// Get returns the contribution, and whether there is one.
func (r Result[T]) Get() (T, bool) { return r.value, r.serves }

// Steps returns the decisions taken; it is never empty for an excluded object.
func (r Result[T]) Steps() []Step {
	if !r.decided {
		return []Step{Unexplained.Step(Compile, WasExcluded, "the compiler gave no reason; please report this as a bug")}
	}
	return r.steps
}
