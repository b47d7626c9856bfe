package file

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

func configMap(name string) store.Key { return snapshot.Ref("ConfigMap", "default", name) }

func valueOf(o snapshot.Object) string { return o.(*core_v1.ConfigMap).Data["v"] }

// doc is the text of a ConfigMap document.
func doc(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  v: %q\n---\n", name, value)
}

func TestWrittenFileIsEmittedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path, doc("a", "0"))
	w := start(t, Options{Paths: []string{filepath.Dir(path)}})
	var worst time.Duration
	for i := 1; i <= 100; i++ {
		value := fmt.Sprint(i)
		begin := time.Now()
		write(t, path, doc("a", value))
		w.until("the new value", func() bool { return w.has("a", value) })
		worst = max(worst, time.Since(begin))
	}
	t.Log("slowest of 100 writes:", worst)
	if worst > DefaultGrace {
		t.Errorf("a write took %v to be emitted", worst)
	}
}
