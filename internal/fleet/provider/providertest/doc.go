// Package providertest is the contract of internal/fleet/provider as tests: what every
// provider does, and what it answers when the world behind it fails.
//
// A provider's own test runs it over the provider's real client and a world that can be
// made to fail:
//
//	func TestContract(t *testing.T) {
//		providertest.Run(t, providertest.Subject{
//			New:        func(t *testing.T) providertest.World { return newWorld(t) },
//			Impossible: map[providertest.Fault]string{providertest.StockoutLater: "a create is answered at once"},
//		})
//	}
//
// A [Fault] that a world cannot have is declared with the reason, and the suite prints
// it; every other one is tested. The suite never sleeps: it looks again until what it
// waits for is so.
package providertest
