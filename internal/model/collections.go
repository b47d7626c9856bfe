package model

import "github.com/gatehouse-proxy/gatehouse/pkg/derive"

// Collections are the derived collections that make up the model: what compile
// fills and translate reads.
type Collections struct {
	Gateways     derive.Collection[Gateway]     // by GatewayID
	Listeners    derive.Collection[Listener]    // by "namespace/name/address/port", with "/udp" for UDP; the address is "default" where the process decides
	Tables       derive.Collection[RouteTable]  // by TableID
	Hosts        derive.Collection[VirtualHost] // by TableID + "|" + Domain
	Clusters     derive.Collection[Cluster]     // by GatewayID + "|" + ClusterID
	Endpoints    derive.Collection[Endpoints]   // by ClusterID
	Certificates derive.Collection[Certificate] // by GatewayID + "|" + CertificateID
}
