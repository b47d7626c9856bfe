package provider

// Configurable is implemented by providers that have accounts: the Secret that
// providerConfigRef names says which one, and how to get in. A decorator of a provider
// implements it by decorating what the inner one returns.
type Configurable interface {
	// Configured returns the provider as config says, for all calls on behalf of Proxies
	// that name this Secret. It makes no request and may be called for each of them. What
	// is wrong with config is [ErrPermanent] and names the key, never its value.
	//
	// From then on, ListByTag of the provider that is asked lists this account too, and
	// its Get and Delete reach the account's instances.
	Configured(config map[string][]byte) (Provider, error)
}

// Configured returns p as config says, see [Configurable]: p itself without config, or
// if it takes none.
func Configured(p Provider, config map[string][]byte) (Provider, error) {
	if c, ok := p.(Configurable); ok && config != nil {
		return c.Configured(config)
	}
	return p, nil
}
