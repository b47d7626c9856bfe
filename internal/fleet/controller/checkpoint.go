package controller

import (
	"context"
	"fmt"

	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/checkpoint"
)

// Keys of a Secret that is a checkpoint.
const (
	checkpointKey = "leases"
	asideKey      = "unreadable"
)

// A Secret's data has at most maxSecret bytes; a checkpoint leaves room for some of one
// that could not be read.
const (
	maxSecret     = core_v1.MaxSecretSize
	maxCheckpoint = maxSecret - 64<<10
)

// Checkpoint is a Secret in the namespace of this process, in which the leader keeps what
// the next one is to know of leases. It is read past any cache, and written only while
// this process leads, and only over what it has read or written last.
func (c *Controller) Checkpoint(name string) checkpoint.Sink {
	return &secretSink{
		key:  types.NamespacedName{Namespace: c.o.Namespace, Name: name},
		live: c.cluster.GetAPIReader(), client: c.cluster.GetClient(), fence: c.lease.check,
	}
}

// CheckpointRight is what an account needs for a Checkpoint that is there. To create one
// cannot be limited to a name; the manifests have an empty one instead.
func CheckpointRight(namespace, name string) Right {
	return Right{Resource: "secrets", Verbs: []string{"get", "update"}, Namespace: namespace, Name: name}
}

// secretSink is used by one goroutine.
type secretSink struct {
	key    types.NamespacedName
	live   client.Reader
	client client.Client
	fence  func() error
	// last is the Secret as it was read or written last; nil before.
	last *core_v1.Secret
	// known: nothing in the Secret is still to be told to this process.
	known bool
}

// Load implements [checkpoint.Sink].
func (s *secretSink) Load(ctx context.Context) ([]byte, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	s.known = true
	return s.last.Data[checkpointKey], nil
}

// read takes a Secret that is not there for one that is to be created.
func (s *secretSink) read(ctx context.Context) error {
	now := new(core_v1.Secret)
	err := s.live.Get(ctx, s.key, now)
	if api_errors.IsNotFound(err) {
		now, err = &core_v1.Secret{Namespace: s.key.Namespace, Name: s.key.Name}, nil
	}
	if err == nil {
		s.last = now
	}
	return err
}

// Store implements [checkpoint.Sink]. A conflict means that somebody else has written: who
// still leads then writes over it, at the next try. What this process could not load is
// put aside.
func (s *secretSink) Store(ctx context.Context, content []byte) error {
	return s.write(ctx, func(data map[string][]byte) {
		if unread := data[checkpointKey]; !s.known && len(unread) > 0 {
			data[asideKey] = unread
		}
		if len(content)+len(data[asideKey]) > maxSecret {
			delete(data, asideKey)
		}
		data[checkpointKey] = content
	})
}

// Aside implements [checkpoint.Sink]: in another key of the same Secret.
func (s *secretSink) Aside(ctx context.Context, content []byte) (where string, err error) {
	if content == nil {
		return "nowhere, it was not read", nil
	}
	return s.String() + ", key " + asideKey, s.write(ctx, func(data map[string][]byte) {
		delete(data, checkpointKey)
		data[asideKey] = content
	})
}

func (s *secretSink) write(ctx context.Context, change func(map[string][]byte)) error {
	if s.fence() != nil {
		return checkpoint.ErrNotLeading
	}
	if s.last == nil {
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	next := s.last.DeepCopy()
	if next.Data == nil {
		next.Data = map[string][]byte{}
	}
	change(next.Data)
	err := s.put(ctx, next)
	if err != nil {
		s.last = nil // read again
		return err
	}
	s.last, s.known = next, true
	return nil
}

func (s *secretSink) put(ctx context.Context, next *core_v1.Secret) error {
	if next.ResourceVersion != "" {
		return s.client.Update(ctx, next)
	}
	err := s.client.Create(ctx, next)
	if api_errors.IsForbidden(err) {
		return fmt.Errorf("%s is missing, and may not be created: apply deploy/fleet, or kubectl create secret generic -n %s %s", s, s.key.Namespace, s.key.Name)
	}
	return err
}

// Most implements [checkpoint.Sink].
func (*secretSink) Most() int { return maxCheckpoint }

func (s *secretSink) String() string { return "Secret " + s.key.String() }
