package discovery_test

import (
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// pod makes one that is ready at an address.
func (l lab) pod(t *testing.T, name, ip string, labels map[string]string) {
	t.Helper()
	pods := l.Client().CoreV1().Pods(l.ns)
	pod := &core_v1.Pod{
		Name: name, Labels: labels,
		Spec: core_v1.PodSpec{NodeName: cluster.Node, Containers: []core_v1.Container{{Name: "db", Image: "db"}}},
	}
	pod, err := pods.Create(t.Context(), pod, meta_v1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status = core_v1.PodStatus{
		Phase: core_v1.PodRunning, PodIP: ip, PodIPs: []core_v1.PodIP{{IP: ip}},
		Conditions: []core_v1.PodCondition{{Type: core_v1.PodReady, Status: core_v1.ConditionTrue}},
	}
	if _, err := pods.UpdateStatus(t.Context(), pod, meta_v1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// With the slices of the real controller: a pod that terminates keeps its sessions and
// gets no new ones, and when it is gone its sessions end with 57P01.
func podGoes(t *testing.T, l lab, old, next server) {
	t.Helper()
	labels := map[string]string{"app": "db"}
	service := l.service(t, "db")
	service.Spec.Selector = labels
	if _, err := l.Client().CoreV1().Services(l.ns).Update(t.Context(), service, meta_v1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.pod(t, "db-0", old.ip, labels)
	r := l.router(t).ready(t)
	r.goesTo(t, "postgres.orders", old)
	conn := r.session(t, "postgres.orders")

	l.pod(t, "db-1", next.ip, labels)
	pods := l.Client().CoreV1().Pods(l.ns)
	if err := pods.Delete(t.Context(), "db-0", meta_v1.DeleteOptions{GracePeriodSeconds: new(int64(300))}); err != nil {
		t.Fatal(err)
	}
	consecutive := 0
	until(t, "no new session goes to the pod that terminates", func() bool {
		if at(t, r.session(t, "postgres.orders")) != next.Port {
			consecutive = -1
		}
		consecutive++
		return consecutive == 4
	})
	if port := at(t, conn); port != old.Port {
		t.Errorf("the session is at port %d while its pod terminates, want %d", port, old.Port)
	}
	gone := time.Now()
	if err := pods.Delete(t.Context(), "db-0", meta_v1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	until(t, "the session ends with 57P01", func() bool {
		_, err := conn.Exec(t.Context(), "select 1")
		return sqlstate(err) == adminShutdown
	})
	t.Logf("its session ended %s after the pod", time.Since(gone).Round(time.Millisecond))
}
