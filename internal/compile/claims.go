package compile

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// claim is one Gateway's wish to bind one address and port.
type claim struct {
	Gateway model.GatewayID
	Created int64
	Address netip.Addr
	Port    portKey
}

// portKey is "53", or "53/udp": connections and datagrams have ports of their own.
type portKey string

func portOf(number int, udp bool) portKey {
	key := portKey(strconv.Itoa(number))
	if udp {
		key += "/udp"
	}
	return key
}

// loss is a claim that an older Gateway's one leaves without its port.
type loss struct {
	claim
	Holder model.GatewayID
	// Because says what puts the holder first.
	Because string
}

// portClaims are the claims of a Gateway: each address with each port of an accepted listener.
func portClaims(_ *derive.Ctx, _ string, g gateway) []derive.Item[claim] {
	if !g.claims() {
		return nil
	}
	var ports []portKey
	for _, l := range g.Listeners {
		if l.Accepted {
			ports = append(ports, l.portKey())
		}
	}
	var items []derive.Item[claim]
	for _, port := range distinct(ports) {
		for _, address := range g.Addresses {
			items = append(items, derive.Item[claim]{
				Key: bindKey(address, port), Value: claim{g.ID, g.Created, address, port},
			})
		}
	}
	return items
}

// contest settles who has one port: the older Gateway first, ties by name. A
// claim that lost holds nothing against later ones.
func (b *build) contest(c *derive.Ctx, port string) ([]loss, bool) {
	var claims []claim
	for _, item := range derive.All(c, b.claimsByPort, port) {
		claims = append(claims, item.Value)
	}
	losses := settleClaims(claims, b.BindAddress)
	return losses, len(losses) > 0
}

func settleClaims(claims []claim, byDefault netip.Addr) []loss {
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Gateway, b.Gateway), a.Address.Compare(b.Address))
	})
	var held []claim
	var losses []loss
	for _, wish := range claims {
		i := slices.IndexFunc(held, func(other claim) bool {
			return other.Gateway != wish.Gateway && collide(effective(other.Address, byDefault), effective(wish.Address, byDefault))
		})
		if i < 0 {
			held = append(held, wish)
		} else {
			losses = append(losses, loss{wish, held[i].Gateway, precedence(held[i], wish)})
		}
	}
	return losses
}

func precedence(winner, loser claim) string {
	if winner.Created < loser.Created {
		return "which is older"
	}
	return "which is as old and first by name"
}

// lossItems makes each loss a value of its own, so that a Gateway reads only its own.
func lossItems(_ *derive.Ctx, _ string, losses []loss) []derive.Item[loss] {
	items := make([]derive.Item[loss], len(losses))
	for i, l := range losses {
		items[i] = derive.Item[loss]{Key: lossItem(l.Gateway, l.Address), Value: l}
	}
	return items
}

// lost tells whether another Gateway keeps this one from an address and port.
func (b *build) lost(c *derive.Ctx, g model.GatewayID, address netip.Addr, port portKey) (loss, bool) {
	return derive.Get(c, b.losses, derive.JoinKey(string(port), lossItem(g, address)))
}

func lossItem(g model.GatewayID, address netip.Addr) string {
	return string(g) + "/" + addressText(address)
}

// collide reports whether one process binding an address keeps another from the
// other one: a wildcard takes every address of its family, and "::" both families.
func collide(a, b netip.Addr) bool {
	switch {
	case a == b:
		return true
	case !a.IsValid() || !b.IsValid():
		return false
	default:
		return takesAll(a, b) || takesAll(b, a)
	}
}

func takesAll(wildcard, other netip.Addr) bool {
	return wildcard.IsUnspecified() && (wildcard.Is6() || other.Is4())
}

// apart returns the addresses in order, each once, without those that another one takes in.
func apart(addresses []netip.Addr) []netip.Addr {
	slices.SortFunc(addresses, netip.Addr.Compare)
	addresses = slices.Compact(addresses)
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool {
		return slices.ContainsFunc(addresses, func(b netip.Addr) bool { return a != b && b.IsValid() && a.IsValid() && takesAll(b, a) })
	})
}

func effective(address, byDefault netip.Addr) netip.Addr {
	if !address.IsValid() {
		return byDefault
	}
	return address
}

// addressText is the address as keys and messages have it.
func addressText(address netip.Addr) string {
	if !address.IsValid() {
		return "default"
	}
	return address.String()
}

// bindKey is "address/port", with "/udp" for UDP.
func bindKey(address netip.Addr, port portKey) string {
	return addressText(address) + "/" + string(port)
}
