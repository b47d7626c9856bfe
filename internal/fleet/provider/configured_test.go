package provider

import "testing"

type account struct {
	Provider
	name string
}

func (a account) Configured(config map[string][]byte) (Provider, error) {
	return account{name: string(config["name"])}, nil
}

func TestConfigured(t *testing.T) {
	config := map[string][]byte{"name": []byte("second")}
	if p, err := Configured(account{name: "first"}, config); err != nil || p.(account).name != "second" {
		t.Errorf("with config: %v, %v; want the second account", p, err)
	}
	if p, err := Configured(account{name: "first"}, nil); err != nil || p.(account).name != "first" {
		t.Errorf("without config: %v, %v; want the first account", p, err)
	}
}
