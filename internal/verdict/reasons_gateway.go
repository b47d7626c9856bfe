package verdict

// Reasons that the compiler gives for GatewayClasses, Gateways and their listeners.
var (
	ClassNotFound = Reason{
		Name: "ClassNotFound", Class: OutcomeClass,
		Meaning: "The GatewayClass that the Gateway names does not exist, so no controller serves it.",
		Remedy:  "Create the GatewayClass, or name an existing one in spec.gatewayClassName.",
	}
	OtherController = Reason{
		Name: "OtherController", Class: OutcomeClass,
		Meaning: "The object belongs to another controller; Gatehouse leaves it and its status alone.",
		Remedy:  "To have Gatehouse serve it, use a GatewayClass whose spec.controllerName is that of this instance.",
	}
	InvalidParameters = Reason{
		Name: "InvalidParameters", Class: OutcomeClass,
		Meaning: "parametersRef names something that is no usable GatewayConfig.",
		Remedy:  "Let parametersRef name an existing GatewayConfig with valid values.",
	}
	UnsupportedAddress = Reason{
		Name: "UnsupportedAddress", Class: OutcomeClass,
		Meaning: "spec.addresses of a Gateway asks for an address of a type that cannot be bound, or an EndpointSlice has host names.",
		Remedy:  "Use IP addresses.",
	}
	PortUnavailable = Reason{
		Name: "PortUnavailable", Class: OutcomeClass,
		Meaning: "Another, older Gateway holds the listener's address and port.",
		Remedy:  "Use another port, or give one of the Gateways its own address in spec.addresses.",
	}
	ListenersNotValid = Reason{
		Name: "ListenersNotValid", Class: OutcomeClass,
		Meaning: "Some listener of the Gateway or the ListenerSet is not accepted; with none accepted, the object is not.",
		Remedy:  "See the conditions of its listeners.",
	}
	NotAllowed = Reason{
		Name: "NotAllowed", Class: OutcomeClass,
		Meaning: "The Gateway takes no ListenerSet from this namespace; by default it takes none at all.",
		Remedy:  "Set spec.allowedListeners of the Gateway, or move the ListenerSet.",
	}
	ParentNotAccepted = Reason{
		Name: "ParentNotAccepted", Class: OutcomeClass,
		Meaning: "The Gateway that the ListenerSet attaches to is not accepted itself.",
		Remedy:  "See the conditions of the Gateway.",
	}
	ProtocolConflict = Reason{
		Name: "ProtocolConflict", Class: OutcomeClass,
		Meaning: "Listeners use the same port with protocols that cannot share it. Of one object none of them serves; between a Gateway and its ListenerSets the Gateway's goes before, then the older ListenerSet's.",
		Remedy:  "Give the listeners different ports.",
	}
	HostnameConflict = Reason{
		Name: "HostnameConflict", Class: OutcomeClass,
		Meaning: "Listeners have the same port, protocol and host name. Of one object none of them serves; between a Gateway and its ListenerSets the Gateway's goes before, then the older ListenerSet's.",
		Remedy:  "Give the listeners different host names or ports.",
	}
	UnsupportedProtocol = Reason{
		Name: "UnsupportedProtocol", Class: OutcomeClass,
		Meaning: "The protocol of the listener, or of the backend's port, is not served.",
		Remedy:  "Use HTTP, HTTPS, TLS, TCP or UDP; for a backend, a protocol that the route can speak.",
	}
	InvalidRouteKinds = Reason{
		Name: "InvalidRouteKinds", Class: OutcomeClass,
		Meaning: "allowedRoutes.kinds names a kind that cannot attach to a listener of this protocol.",
		Remedy:  "Name only kinds that the listener's status lists as supported, or leave kinds out.",
	}
	InvalidCertificateRef = Reason{
		Name: "InvalidCertificateRef", Class: OutcomeClass,
		Meaning: "A certificate of the listener does not exist or cannot be used; it serves with its other ones, if any.",
		Remedy:  "Create the Secret with a matching tls.crt and tls.key.",
	}
	OverlappingHostnames = Reason{
		Name: "OverlappingHostnames", Class: InfoClass,
		Meaning: "HTTPS listeners of one port have host names that cover each other; a request for the wrong one answers 421.",
	}
	CertificateExpiring = Reason{
		Name: "CertificateExpiring", Class: OutcomeClass,
		Meaning: "A certificate expires soon; it keeps serving.",
		Remedy:  "Renew the certificate.",
	}
	CertificateExpired = Reason{
		Name: "CertificateExpired", Class: OutcomeClass,
		Meaning: "A certificate has expired; it keeps serving, and clients that verify will refuse it.",
		Remedy:  "Renew the certificate.",
	}
	InvalidCACertificateRef = Reason{
		Name: "InvalidCACertificateRef", Class: OutcomeClass,
		Meaning: "An authority that backends or clients are to be verified by does not exist or cannot be used; nothing is forwarded to such backends, and clients are verified by the others.",
		Remedy:  "Create the ConfigMap with PEM certificates in ca.crt, or the ClusterTrustBundle.",
	}
	InvalidClientCertificateRef = Reason{
		Name: "InvalidClientCertificateRef", Class: OutcomeClass,
		Meaning: "The certificate that the Gateway is to show to backends does not exist or cannot be used; it shows none, and does not forward to an XBackend that names one of its own.",
		Remedy:  "Create the Secret with a matching tls.crt and tls.key.",
	}
	InvalidCACertificateKind = Reason{
		Name: "InvalidCACertificateKind", Class: OutcomeClass,
		Meaning: "A listener is to verify clients by an object of a kind that has no authorities.",
		Remedy:  "Refer to a ConfigMap or a ClusterTrustBundle.",
	}
	NoValidCACertificate = Reason{
		Name: "NoValidCACertificate", Class: OutcomeClass,
		Meaning: "No authority that backends or clients are to be verified by can be used; nothing is forwarded to such backends, and such a listener does not serve.",
		Remedy:  "Create the ConfigMap with PEM certificates in ca.crt, or the ClusterTrustBundle.",
	}
	InvalidListenerFilter = Reason{
		Name: "InvalidListenerFilter", Class: OutcomeClass,
		Meaning: "A filter of the listener has a value that cannot be served. It is not skipped: every request of the listener answers 500.",
		Remedy:  "Correct the filter in spec.listeners[].filters.requests, or take it out.",
	}
	InvalidListenerFilterRef = Reason{
		Name: "InvalidListenerFilterRef", Class: OutcomeClass,
		Meaning: "A filter of the listener refers to something that does not exist or cannot be asked. It is not skipped: every request of the listener answers 500.",
		Remedy:  "Create what the filter refers to, or let it refer to a Service, a ServiceImport or an XBackend.",
	}
	UnusableCertificate = Reason{
		Name: "UnusableCertificate", Class: FailureClass,
		Meaning: "A Secret that a listener refers to has no certificate and key that belong together and that a proxy can use.",
		Remedy:  "Store a PEM certificate chain in tls.crt and its private key (RSA of at least 2048 bits, or ECDSA on P-256, P-384 or P-521) in tls.key.",
	}
)

// gatewayReasons are those of this file.
var gatewayReasons = []Reason{
	ClassNotFound, OtherController, InvalidParameters, UnsupportedAddress, PortUnavailable,
	ListenersNotValid, NotAllowed, ParentNotAccepted, ProtocolConflict, HostnameConflict, UnsupportedProtocol, InvalidRouteKinds,
	InvalidCertificateRef, OverlappingHostnames, CertificateExpiring, CertificateExpired,
	InvalidCACertificateRef, InvalidCACertificateKind, InvalidClientCertificateRef, NoValidCACertificate,
	InvalidListenerFilter, InvalidListenerFilterRef, UnusableCertificate,
}
