package providertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
)

// mutation, in the environment, names what is wrong with the provider that is tested.
const mutation = "GATEHOUSE_TEST_MUTATION"

func TestMemory(t *testing.T) {
	providertest.Run(t, providertest.Subject{New: func(*testing.T) providertest.World {
		return mutated{new(providertest.Memory), mutations[os.Getenv(mutation)].of}
	}})
}

// mutated is a world whose providers have something wrong with them.
type mutated struct {
	*providertest.Memory
	of func(provider.Provider) provider.Provider
}

func (m mutated) Open(tb testing.TB, cluster string) provider.Provider {
	p := m.Memory.Open(tb, cluster)
	if m.of == nil {
		return p
	}
	return m.of(p)
}

// mutations are mistakes, each with a clause that notices it.
var mutations = map[string]struct {
	noticed string
	of      func(provider.Provider) provider.Provider
}{
	"a list in part is taken for whole": {"a_list_in_part", func(p provider.Provider) provider.Provider {
		return lists{p, func(all []provider.Instance, err error) ([]provider.Instance, error) {
			if _, partial := errors.AsType[*provider.PartialError](err); partial {
				return all, nil
			}
			return all, err
		}}
	}},
	"a list that fails is empty": {"a_list_that_fails", func(p provider.Provider) provider.Provider {
		return lists{p, func(all []provider.Instance, _ error) ([]provider.Instance, error) { return all, nil }}
	}},
	"a list repeats itself": {"an_instance_lives", func(p provider.Provider) provider.Provider {
		return lists{p, func(all []provider.Instance, err error) ([]provider.Instance, error) { return append(all, all...), err }}
	}},
	"a list has only the first page": {"a_list_in_pages", func(p provider.Provider) provider.Provider {
		return lists{p, func(all []provider.Instance, err error) ([]provider.Instance, error) {
			return all[:min(len(all), 1)], err
		}}
	}},
	"what cannot be seen is not found": {"a_read_that_fails", func(p provider.Provider) provider.Provider {
		return gets{p, func(got provider.Instance, err error) (provider.Instance, error) {
			if err != nil {
				err = provider.ErrNotFound
			}
			return got, err
		}}
	}},
	"what is being deleted is gone": {"a_delete_that_does_not_end", func(p provider.Provider) provider.Provider {
		return gets{p, func(got provider.Instance, err error) (provider.Instance, error) {
			if got.State == provider.Terminating {
				err = provider.ErrNotFound
			}
			return got, err
		}}
	}},
	"an instance runs without an address": {"an_address_that_comes_late", func(p provider.Provider) provider.Provider {
		return gets{p, func(got provider.Instance, err error) (provider.Instance, error) {
			if got.State == provider.Provisioning {
				got.State = provider.Running
			}
			return got, err
		}}
	}},
	"a label has the whole hash": {"an_instance_lives", func(p provider.Provider) provider.Provider {
		return gets{p, func(got provider.Instance, err error) (provider.Instance, error) {
			got.Hash += got.Hash
			return got, err
		}}
	}},
	"any instance with the name is ours": {"a_name_can_be_another_fleet's", func(p provider.Provider) provider.Provider {
		return creates{p, func(r provider.CreateRequest, got provider.Instance, err error) (provider.Instance, error) {
			if errors.Is(err, provider.ErrPermanent) {
				return provider.Instance{ID: "zones/a/" + r.Name, Name: r.Name, UID: r.UID, Cluster: r.Cluster}, nil
			}
			return got, err
		}}
	}},
	"an instance that is being deleted is adopted": {"a_create_while_the_last_instance_is_deleted", func(p provider.Provider) provider.Provider {
		return creates{p, func(r provider.CreateRequest, got provider.Instance, err error) (provider.Instance, error) {
			if err != nil && strings.Contains(err.Error(), "being deleted") {
				return provider.Instance{ID: "zones/a/" + r.Name}, nil
			}
			return got, err
		}}
	}},
	"a quota is forever": {"a_create_beyond_the_quota", func(p provider.Provider) provider.Provider {
		return creates{p, func(_ provider.CreateRequest, got provider.Instance, err error) (provider.Instance, error) {
			if errors.Is(err, provider.ErrQuotaExceeded) {
				err = provider.ErrPermanent
			}
			return got, err
		}}
	}},
	"an error has the password": {"a_create_that_is_not_possible_now", func(p provider.Provider) provider.Provider {
		return creates{p, func(r provider.CreateRequest, got provider.Instance, err error) (provider.Instance, error) {
			if err != nil {
				err = fmt.Errorf("create %+v: %w", r, err)
			}
			return got, err
		}}
	}},
	"a delete of what is gone fails": {"a_delete_can_be_repeated", func(p provider.Provider) provider.Provider { return deletes{p} }},
}

type lists struct {
	provider.Provider
	after func([]provider.Instance, error) ([]provider.Instance, error)
}

func (l lists) ListByTag(ctx context.Context, cluster string) ([]provider.Instance, error) {
	return l.after(l.Provider.ListByTag(ctx, cluster))
}

type gets struct {
	provider.Provider
	after func(provider.Instance, error) (provider.Instance, error)
}

func (g gets) Get(ctx context.Context, id string) (provider.Instance, error) {
	return g.after(g.Provider.Get(ctx, id))
}

type creates struct {
	provider.Provider
	after func(provider.CreateRequest, provider.Instance, error) (provider.Instance, error)
}

func (c creates) Create(ctx context.Context, r provider.CreateRequest) (provider.Instance, error) {
	got, err := c.Provider.Create(ctx, r)
	return c.after(r, got, err)
}

type deletes struct{ provider.Provider }

func (d deletes) Delete(ctx context.Context, id string) error {
	if _, err := d.Get(ctx, id); err != nil {
		return err
	}
	return d.Provider.Delete(ctx, id)
}

// TestMistakesAreNoticed: no provider with one of the mistakes passes, and the clause
// that is about it says so.
func TestMistakesAreNoticed(t *testing.T) {
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory$/^"+m.noticed+"$")
			cmd.Env = append(os.Environ(), mutation+"="+name)
			out, err := cmd.CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), "--- FAIL: TestMemory/"+m.noticed) {
				t.Errorf("%v, want clause %s to fail:\n%s", err, m.noticed, out)
			}
		})
	}
}

// TestImpossibleFaults: one that is declared has a reason, and exists.
func TestImpossibleFaults(t *testing.T) {
	if os.Getenv(mutation) != "" {
		providertest.Run(t, providertest.Subject{Impossible: map[providertest.Fault]string{"Rains": "it is dry", providertest.Hangs: ""}})
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestImpossibleFaults$/^nothing$")
	cmd.Env = append(os.Environ(), mutation+"=none")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{`fault "Rains" is declared impossible`, `fault "Hangs" is declared impossible with the reason ""`} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %q in:\n%s", err, want, out)
		}
	}
}
