package failmode

import (
	"encoding/pem"
	"strings"

	certificates_v1beta1 "k8s.io/api/certificates/v1beta1"
	core_v1 "k8s.io/api/core/v1"
)

// authorityKey is where a ConfigMap has its authorities.
const authorityKey = "ca.crt"

// meetAuthorities is a ConfigMap or ClusterTrustBundle of the authorities that both
// revisions have; nil where there is none. An authority that was taken out is as one
// that was deleted.
func meetAuthorities(accepted, observed any) any {
	switch a := accepted.(type) {
	case *core_v1.ConfigMap:
		o, ok := observed.(*core_v1.ConfigMap)
		if !ok {
			return nil
		}
		text, fewer := meetText(a.Data[authorityKey], o.Data[authorityKey])
		if !fewer {
			return a
		}
		out := a.DeepCopy()
		out.Data[authorityKey] = text
		return pick(text == "", nil, out)
	case *certificates_v1beta1.ClusterTrustBundle:
		o, ok := observed.(*certificates_v1beta1.ClusterTrustBundle)
		if !ok {
			return nil
		}
		text, fewer := meetText(a.Spec.TrustBundle, o.Spec.TrustBundle)
		if !fewer {
			return a
		}
		out := a.DeepCopy()
		out.Spec.TrustBundle = text
		return pick(text == "", nil, out)
	default:
		return accepted
	}
}

// meetText is the PEM text of the certificates that are in both, and whether they
// are fewer than before. A text with anything else in it has no authorities, and none to lose.
func meetText(before, now string) (text string, fewer bool) {
	has := map[string]bool{}
	for _, block := range blocks(now) {
		has[string(block.Bytes)] = true
	}
	var out strings.Builder
	for _, block := range blocks(before) {
		switch {
		case block.Type != "CERTIFICATE":
			return before, false
		case has[string(block.Bytes)]:
			out.Write(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
		default:
			fewer = true
		}
	}
	return out.String(), fewer
}

func blocks(text string) []*pem.Block {
	var out []*pem.Block
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out
		}
		out = append(out, block)
	}
}
