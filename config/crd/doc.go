// Package crd embeds the custom resource definitions that Gatehouse validates
// files against: those of the Gateway API module in both channels, ServiceImport,
// and Gatehouse's own.
//
// The definitions of other projects are copied from their Go modules by
// "go generate", without the descriptions, which no validation reads and which
// are nine tenths of their size. A test fails when a copy is stale.
package crd

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:generate go run ./generate

// Channel is the release channel of the Gateway API that a definition is from.
type Channel string

// Channels. What has no channels has one definition, which both give.
const (
	Standard     Channel = "standard"
	Experimental Channel = "experimental"
)

//go:embed standard/*.json experimental/*.json multicluster.x-k8s.io_serviceimports.json gatehouse.dev_gatewayconfigs.yaml egress.gatehouse.dev_proxies.yaml
var files embed.FS

// Read returns the definition of group and plural in a channel as YAML or JSON;
// fs.ErrNotExist if the channel has none.
func Read(channel Channel, group, plural string) ([]byte, error) {
	base := group + "_" + plural
	for _, name := range []string{string(channel) + "/" + base + ".json", base + ".json", base + ".yaml"} {
		if b, err := files.ReadFile(name); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("definition of %s.%s in the %s channel: %w", plural, group, channel, fs.ErrNotExist)
}
