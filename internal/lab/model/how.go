package model

import (
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// How says in a few words how the proxy learns of changes; policy is the script's.
func (s Spec) How(policy lab.Policy) string {
	how := ""
	switch s.Model {
	case lab.ModelStream:
		how = "each change " + after(s.delay)
	case lab.ModelDNS:
		how = fmt.Sprintf("all names again every %v", time.Duration(s.ttl))
	case lab.ModelReload:
		how = s.howReload(policy)
	}
	if s.proxies > 1 {
		how += fmt.Sprintf("; %d proxies, the last %v behind the first", s.proxies, time.Duration(s.spread))
	}
	return how
}

func (s Spec) howReload(policy lab.Policy) string {
	if s.policy != nil {
		policy = *s.policy
	}
	how := "all changes at each reload of the script"
	if policy.OnChange {
		how = "a reload at each change"
		if policy.Batch > 0 {
			how = fmt.Sprintf("a reload %v after the first change", time.Duration(policy.Batch))
		}
		if policy.Interval > 0 {
			how += fmt.Sprintf(", at most every %v", time.Duration(policy.Interval))
		}
	}
	if s.drain > 0 {
		how += fmt.Sprintf("; old workers keep the old view for %v", time.Duration(s.drain))
	}
	return how
}

// after says when something is done that waits for d: "at once", or "2s later".
func after(d lab.Moment) string {
	if d == 0 {
		return "at once"
	}
	return fmt.Sprintf("%v later", time.Duration(d))
}
