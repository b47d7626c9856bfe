package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

// writeEvent writes a problem where its Service is. All replicas give it the same name,
// so that there is one of it.
func (c *client) writeEvent(ctx context.Context, p index.Problem) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.core.Post().Namespace(p.Service.Namespace).Resource("events").Body(eventOf(p, time.Now())).Do(ctx).Error()
	if api_errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func eventOf(p index.Problem, now time.Time) *core_v1.Event {
	sum := sha256.Sum256([]byte(string(p.UID) + "\x00" + string(p.Reason) + "\x00" + p.Message))
	at := meta_v1.NewTime(now)
	return &core_v1.Event{
		Namespace: p.Service.Namespace, Name: p.Service.Name + "." + hex.EncodeToString(sum[:8]),
		InvolvedObject: core_v1.ObjectReference{
			APIVersion: "v1", Kind: "Service", Namespace: p.Service.Namespace, Name: p.Service.Name, UID: p.UID,
		},
		Type: core_v1.EventTypeWarning, Reason: string(p.Reason), Message: p.String(),
		Source:         core_v1.EventSource{Component: "gatehouse-postgres"},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}
}
